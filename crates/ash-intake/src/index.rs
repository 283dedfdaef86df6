//! Git's index of the repository around the scanned directory: which files are in it. Git itself is never asked.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use ash_model::path::{RelPath, os_string};

use crate::{
    reader::{self, open_no_follow},
    rules::is_left_out,
};

/// A longer index is not read.
const LIMIT: u64 = 256 << 20;
/// The mode of an entry that is a submodule.
const SUBMODULE: u32 = 0o160_000;

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
    /// The index of the nearest repository at or above a directory, if it can be read: `.git` is a directory and the index a plain list.
    pub fn around(source: &Path) -> Option<Self> {
        let source = source.canonicalize().ok()?;
        let mut git = source.ancestors().map(|above| above.join(".git"));
        let git = git.find(|git| git.symlink_metadata().is_ok())?;
        let below = source.strip_prefix(git.parent()?).ok()?.to_owned();
        let bytes = plain(&git).ok()?;
        // Nothing in the index says how long its hashes are: SHA-1 or SHA-256.
        let hash = [20, 32].into_iter().find(|hash| entries(&bytes, *hash).is_some())?;
        Some(Self { bytes, hash, below })
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

    /// How many files of the repository, below the scanned directory, no scan looks at because of the directory they are in. A submodule is
    /// one.
    pub fn in_left_out_directories(&self) -> u64 {
        let is_counted = |(mode, name): &(u32, &[u8])| {
            let name = os_string(name.to_vec());
            Path::new(&name).strip_prefix(&self.below).is_ok_and(|path| {
                let is_dir = |above: usize| above > 0 || *mode == SUBMODULE;
                path.ancestors().enumerate().any(|(above, at)| is_left_out(at, is_dir(above)))
            })
        };
        self.entries().into_iter().filter(is_counted).count() as u64
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

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::{testing::index, *};

    /// What [`Index::in_left_out_directories`] says, if there is an index.
    fn counted(source: &Path) -> Option<u64> {
        Index::around(source).map(|index| index.in_left_out_directories())
    }

    #[test]
    fn what_a_repository_has_in_directories_no_scan_enters_is_counted() {
        let file = 0o100_644;
        let listed = [
            (file, "app/.venv/lib/x.py"),
            (file, "app/a/venv/x.py"),
            (file, "app/cdk.out/asset.1/index.js"),
            (file, "app/cdk.out/asset.2.zip"),
            (SUBMODULE, "app/node_modules"),
            (file, "app/cdk.out/stack.template.json"),
            (file, "app/docs/node_modules"),
            (file, "app/main.py"),
            (file, "app/my_venv/main.py"),
            (file, "node_modules/x/a.js"),
        ];
        let lab = tempfile::tempdir().unwrap();
        let app = lab.path().join("app");
        fs::create_dir(&app).unwrap();
        assert_eq!(counted(&app), None);
        fs::create_dir(lab.path().join(".git")).unwrap();
        for hash in [20, 32] {
            let bytes = index(3, &listed, hash);
            fs::write(lab.path().join(".git/index"), &bytes).unwrap();
            assert_eq!(counted(&app), Some(5), "hashes of {hash} bytes");
            assert_eq!(counted(lab.path()), Some(6));
            fs::write(lab.path().join(".git/index"), &bytes[..bytes.len() / 2]).unwrap();
            assert_eq!(counted(&app), None, "half an index tells nothing");
        }
    }
}
