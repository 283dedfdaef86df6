//! From rules to classic BPF: one block a rule, so that no jump is longer than its block.

use seccompiler::sock_filter;

use super::{Action, Machine, Options, Rule, Test, table};

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_GREATER_OR_EQUAL: u16 = 0x35;
const JUMP_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
/// x86-64 calls made through the 32-bit-pointer interface carry this bit; the kernel runs the same calls under other numbers.
const X32: u32 = 0x4000_0000;

/// The program for one machine.
pub(super) fn program(machine: Machine, options: &Options) -> Vec<sock_filter> {
    let mut program = vec![
        op(LOAD, ARCHITECTURE, 0, 0),
        op(JUMP_EQUAL, machine.audit(), 1, 0),
        op(RETURN, Action::Kill.returned(), 0, 0),
        op(LOAD, NUMBER, 0, 0),
    ];
    if machine == Machine::X86_64 {
        program.extend([
            op(JUMP_GREATER_OR_EQUAL, X32, 0, 1),
            op(RETURN, Action::Kill.returned(), 0, 0),
        ]);
    }
    program.extend([
        op(JUMP_GREATER_OR_EQUAL, table::NEWEST + 1, 0, 1),
        op(RETURN, Action::Errno(38).returned(), 0, 0),
    ]);
    for rules in by_number(machine, table::rules(options)) {
        program.extend(block(machine, &rules));
    }
    program.push(op(RETURN, Action::Allow.returned(), 0, 0));
    program
}

/// All rules of one call stand together, in their order, where the first of them stood.
fn by_number(machine: Machine, rules: Vec<Rule>) -> Vec<Vec<Rule>> {
    let mut groups: Vec<Vec<Rule>> = Vec::new();
    for rule in rules.into_iter().filter(|rule| rule.number(machine).is_some()) {
        match groups.iter_mut().find(|group| group[0].number(machine) == rule.number(machine)) {
            Some(group) => group.push(rule),
            None => groups.push(vec![rule]),
        }
    }
    groups
}

/// `if the number is this one { each rule in turn; allow }`. The number is lost when an argument is loaded, so the block always returns.
fn block(machine: Machine, rules: &[Rule]) -> Vec<sock_filter> {
    let mut body = Vec::new();
    for rule in rules {
        body.extend(attempt(rule));
    }
    if rules.last().is_none_or(|rule| !rule.tests.is_empty()) {
        body.push(op(RETURN, Action::Allow.returned(), 0, 0));
    }
    let number = rules[0].number(machine).unwrap_or(u32::MAX);
    let mut block = vec![op(JUMP_EQUAL, number, 0, length(&body))];
    block.extend(body);
    block
}

/// `if every test holds { return the action }`, falling through otherwise.
fn attempt(rule: &Rule) -> Vec<sock_filter> {
    let mut code = vec![op(RETURN, rule.action.returned(), 0, 0)];
    for test in rule.tests.iter().rev() {
        let skip = length(&code);
        let mut checked = match *test {
            Test::AnyBit { arg, mask } => {
                vec![op(LOAD, argument(arg), 0, 0), op(JUMP_ANY_BIT, mask, 0, skip)]
            }
            Test::Is { arg, mask, value } => masked(arg, mask, op(JUMP_EQUAL, value, 0, skip)),
            Test::IsNot { arg, mask, value } => masked(arg, mask, op(JUMP_EQUAL, value, skip, 0)),
        };
        checked.append(&mut code);
        code = checked;
    }
    code
}

fn masked(arg: u8, mask: u32, compare: sock_filter) -> Vec<sock_filter> {
    let mut code = vec![op(LOAD, argument(arg), 0, 0)];
    if mask != u32::MAX {
        code.push(op(AND, mask, 0, 0));
    }
    code.push(compare);
    code
}

/// Where the low half of an argument is: both machines are little-endian.
fn argument(index: u8) -> u32 {
    16 + 8 * u32::from(index)
}

/// A block that were longer than a jump would become a jump to nowhere; a test assembles every program, and the kernel
/// refuses one that leaves itself.
fn length(code: &[sock_filter]) -> u8 {
    u8::try_from(code.len()).unwrap_or(u8::MAX)
}

const fn op(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}
