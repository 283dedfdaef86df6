//! Removes what a scanner must not leave behind: links and special files, unreadable modes, setuid bits.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::fd::BorrowedFd,
};

use rustix::fs::{AtFlags, FileType, Mode, Stat};

use super::{
    descent::{self, Descent, file_type, identity},
    limits::{ReadLimits, Swept},
};

/// Sweeps everything beneath a directory. Limits are reported, yet the sweep goes on: no link may stay.
pub(crate) fn sweep(root: BorrowedFd<'_>, limits: &ReadLimits) -> io::Result<Swept> {
    let mut swept =
        Swept { repaired: u64::from(descent::make_accessible(root)?), ..Swept::default() };
    let device = identity(&rustix::fs::fstat(root)?).0;
    let mut descent = Descent::new(root)?;
    let mut pending = vec![sweep_one(&descent, device, limits, &mut swept)];
    while let Some(names) = pending.last_mut() {
        match names.pop() {
            Some(name) => match descent.enter(&name) {
                Ok(repaired) => {
                    swept.repaired += u64::from(repaired);
                    let below = sweep_one(&descent, device, limits, &mut swept);
                    pending.push(below);
                }
                Err(_) => swept.failed += 1,
            },
            None => {
                pending.pop();
                if !pending.is_empty() {
                    descent.leave()?;
                }
            }
        }
    }
    Ok(swept)
}

/// Sweeps one directory and returns its subdirectories.
fn sweep_one(
    descent: &Descent,
    device: u64,
    limits: &ReadLimits,
    swept: &mut Swept,
) -> Vec<OsString> {
    let mut directories = vec![];
    let Ok(entries) = descent.entries() else {
        swept.failed += 1;
        return directories;
    };
    for entry in entries {
        let Ok((name, stat)) = entry else {
            swept.failed += 1;
            continue;
        };
        swept.entries += 1;
        match file_type(&stat) {
            FileType::Directory if identity(&stat).0 == device => directories.push(name),
            FileType::RegularFile => {
                swept.bytes = swept.bytes.saturating_add(u64::try_from(stat.st_size).unwrap_or(0));
                swept.repair(descent.fd(), &name, &stat);
            }
            // A mount left behind cannot be swept through.
            FileType::Directory => swept.failed += 1,
            _ => match rustix::fs::unlinkat(descent.fd(), &name, AtFlags::empty()) {
                Ok(()) => swept.removed += 1,
                Err(_) => swept.failed += 1,
            },
        }
        swept.check(descent.depth() + 1, limits);
    }
    directories
}

impl Swept {
    /// A regular file becomes readable for its owner, and neither setuid nor setgid.
    fn repair(&mut self, dir: BorrowedFd<'_>, name: &OsStr, stat: &Stat) {
        let mode = Mode::from_raw_mode(stat.st_mode);
        let special = Mode::SUID | Mode::SGID | Mode::SVTX;
        if mode.contains(Mode::RUSR) && !mode.intersects(special) {
            return;
        }
        let plain = (mode & Mode::from_raw_mode(0o777)) | Mode::RUSR | Mode::WUSR;
        match descent::repair(dir, name, plain) {
            Ok(()) => self.repaired += 1,
            Err(_) => self.failed += 1,
        }
    }
}

/// Removes everything in a directory.
pub(crate) fn remove_contents(root: BorrowedFd<'_>) -> io::Result<()> {
    descent::make_accessible(root)?;
    let mut descent = Descent::new(root)?;
    let mut pending: Vec<Vec<OsString>> = vec![remove_files(&descent)?];
    while let Some(names) = pending.last_mut() {
        // A directory stays on the list until it is empty and can go.
        match names.last() {
            Some(name) => {
                let name = name.clone();
                descent.enter(&name)?;
                pending.push(remove_files(&descent)?);
            }
            None => {
                pending.pop();
                if let Some(above) = pending.last_mut() {
                    descent.leave()?;
                    if let Some(name) = above.pop() {
                        rustix::fs::unlinkat(descent.fd(), &name, AtFlags::REMOVEDIR)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Removes all but the directories of one directory, and returns those.
fn remove_files(descent: &Descent) -> io::Result<Vec<OsString>> {
    let mut directories = vec![];
    for entry in descent.entries()? {
        let (name, stat) = entry?;
        if file_type(&stat) == FileType::Directory {
            directories.push(name);
        } else {
            rustix::fs::unlinkat(descent.fd(), &name, AtFlags::empty())?;
        }
    }
    Ok(directories)
}
