//! Git's index of the repository around the scanned directory: which files are in it. Git itself is never asked.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use ash_model::path::{RelPath, os_string};

use crate::{
    gitdir,
    reader::{self, open_no_follow},
};

/// A longer index is not read.
pub(crate) const LIMIT: u64 = 256 << 20;
/// The mode of an entry that is a submodule.
pub(crate) const SUBMODULE: u32 = 0o160_000;

/// An index that names each file in full.
#[derive(Debug)]
pub struct Index {
    bytes: Vec<u8>,
    /// The length of its hashes.
    hash: usize,
    /// The scanned directory, relative to the repository.
    below: PathBuf,
}

impl Index {
    /// The index of the nearest repository at or above a directory, if it can be read: a plain list in the repository's own git directory.
    pub fn around(source: &Path) -> Option<Self> {
        let source = source.canonicalize().ok()?;
        let is_checkout = |above: &&Path| above.join(".git").symlink_metadata().is_ok();
        let checkout = source.ancestors().find(is_checkout)?;
        Self::read(&gitdir::of(checkout)?, source.strip_prefix(checkout).ok()?.to_owned())
    }

    /// The index of a checkout, if no link leads to it and its path is written plainly.
    pub(crate) fn of_checkout(checkout: &Path) -> Option<Self> {
        let is_plain = checkout.canonicalize().is_ok_and(|real| real == checkout);
        is_plain.then(|| Self::read(&gitdir::of(checkout)?, PathBuf::new()))?
    }

    fn read(git: &Path, below: PathBuf) -> Option<Self> {
        let bytes = plain(git).ok()?;
        // Nothing in the index says how long its hashes are: SHA-1 or SHA-256.
        let hash = [20, 32].into_iter().find(|hash| entries(&bytes, *hash).is_some())?;
        Some(Self { bytes, hash, below })
    }

    /// How long it is.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Mode and name of each entry.
    fn entries(&self) -> Vec<(u32, &[u8])> {
        entries(&self.bytes, self.hash).unwrap_or_default()
    }

    /// Whether the repository has anything in the scanned directory. Without that it has nothing to do with it, and says nothing about it.
    pub(crate) fn is_about_source(&self) -> bool {
        let place = self.below.as_os_str().as_encoded_bytes();
        self.entries().into_iter().any(|(_, name)| place.is_empty() || is_within(name, place))
    }

    /// Whether the repository has something in a directory of the scanned one. A submodule above it is listed as one entry without what is
    /// in it, and so are a link and a directory of a sparse index.
    pub(crate) fn lists(&self, directory: &RelPath) -> bool {
        // Without case: where names have none, git may spell them in another way than the file system.
        let place = self.below.join(directory.as_path()).into_os_string().into_encoded_bytes();
        let place = place.to_ascii_lowercase();
        self.entries().into_iter().any(|(_, name)| {
            let name = name.strip_suffix(b"/").unwrap_or(name).to_ascii_lowercase();
            is_within(&name, &place) || is_within(&place, &name)
        })
    }

    /// The entries in the scanned directory, relative to it: whether it is a submodule, and its path.
    pub(crate) fn in_source(&self) -> impl Iterator<Item = (bool, PathBuf)> {
        self.entries().into_iter().filter_map(|(mode, name)| {
            let path = PathBuf::from(os_string(name.to_vec()));
            Some((mode == SUBMODULE, path.strip_prefix(&self.below).ok()?.to_owned()))
        })
    }
}

/// Whether a path is a directory, or lies in it.
fn is_within(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b'/'))
}

/// The index, if it names each file in full: version 4 shortens names, and a split one has the names elsewhere.
fn plain(git: &Path) -> io::Result<Vec<u8>> {
    let split = |name: &OsStr| name.as_encoded_bytes().starts_with(b"sharedindex.");
    let no = || Err(io::Error::other("not a plain index"));
    if !git.symlink_metadata()?.is_dir()
        || fs::read_dir(git)?.flatten().any(|entry| split(&entry.file_name()))
    {
        return no();
    }
    let index = reader::read_bounded(open_no_follow(&git.join("index"))?, LIMIT)?;
    match index.get(..8) {
        Some(b"DIRC\0\0\0\x02" | b"DIRC\0\0\0\x03") => Ok(index),
        _ => no(),
    }
}

fn entries(index: &[u8], hash: usize) -> Option<Vec<(u32, &[u8])>> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let mut found = vec![];
    let mut at = 12;
    for _ in 0..number(8)? {
        // Times, device, inode, mode, owner, group, size; the hash; the flags.
        let flags = index.get(at + 40 + hash..at + 42 + hash)?;
        let flags = u16::from_be_bytes(flags.try_into().ok()?);
        let more_flags = if flags & 0x4000 == 0 { 0 } else { 2 };
        let start = at + 42 + hash + more_flags;
        let length = index.get(start..)?.iter().position(|byte| *byte == 0)?;
        if usize::from(flags & 0xfff) != length.min(0xfff) {
            return None;
        }
        found.push((number(at + 24)?, &index[start..start + length]));
        // One to eight zero bytes end it.
        at += ((start + length - at) / 8 + 1) * 8;
    }
    Some(found)
}

#[cfg(test)]
pub(crate) mod testing {
    /// An index as git writes it, of this version and with hashes this long.
    pub(crate) fn index(version: u8, entries: &[(u32, &str)], hash: usize) -> Vec<u8> {
        let count = u32::try_from(entries.len()).unwrap();
        let mut bytes = [b"DIRC\0\0\0", &[version][..], &count.to_be_bytes()[..]].concat();
        for (number, (mode, name)) in entries.iter().enumerate() {
            let begin = bytes.len();
            bytes.extend([7; 24]);
            bytes.extend(mode.to_be_bytes());
            bytes.extend(vec![7; 12 + hash]);
            let more_flags = version > 2 && number % 2 == 1;
            let length = u16::try_from(name.len()).unwrap();
            bytes.extend((length | if more_flags { 0x4000 } else { 0 }).to_be_bytes());
            bytes.extend(vec![0; if more_flags { 2 } else { 0 }]);
            bytes.extend(name.as_bytes());
            let padding = 8 - (bytes.len() - begin) % 8;
            bytes.extend(vec![0; padding]);
        }
        bytes.extend(b"TREE\0\0\0\x04abcd");
        bytes
    }
}
