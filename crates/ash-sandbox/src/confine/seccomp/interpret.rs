//! A small interpreter of the classic BPF the assembler uses, so that programs are judged by what they do.

use seccompiler::sock_filter;

/// What the kernel hands a filter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) architecture: u32,
    pub(super) number: u32,
    pub(super) arguments: [u64; 6],
}

impl Call {
    /// The 32-bit word at an offset of `struct seccomp_data`.
    fn word(&self, offset: u32) -> u32 {
        match offset {
            0 => self.number,
            4 => self.architecture,
            8 | 12 => 0,
            _ => {
                let argument = self.arguments[(offset as usize - 16) / 8];
                if offset.is_multiple_of(8) { argument as u32 } else { (argument >> 32) as u32 }
            }
        }
    }
}

/// Runs a program to its return value.
pub(super) fn run(program: &[sock_filter], call: &Call) -> u32 {
    let (mut accumulator, mut at) = (0u32, 0usize);
    loop {
        let op = &program[at];
        at += 1;
        let mut jump = |holds: bool| at += usize::from(if holds { op.jt } else { op.jf });
        match op.code {
            0x20 => accumulator = call.word(op.k),
            0x54 => accumulator &= op.k,
            0x15 => jump(accumulator == op.k),
            0x35 => jump(accumulator >= op.k),
            0x45 => jump(accumulator & op.k != 0),
            0x06 => return op.k,
            other => panic!("the assembler used operation {other:#x}"),
        }
    }
}
