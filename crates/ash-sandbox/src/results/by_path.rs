//! One scanner's results directory where directories have no handles to work through. No backend works there, so what wrote the results
//! ran without a sandbox anyway; links are refused all the same.

use std::{
    fs,
    hash::{BuildHasher, RandomState},
    io::{self, Read},
    path::{Path, PathBuf},
};

use ash_model::path::RelPath;

use super::limits::{ReadLimits, ReadRefused, Swept};

/// A results directory.
#[derive(Debug)]
pub struct ResultsDir {
    path: PathBuf,
}

impl ResultsDir {
    /// Makes `<output>/<below>` where it does not exist and opens it. Links below `output` are refused.
    ///
    /// # Errors
    /// When a part is a link or no directory, or cannot be made.
    pub fn create(output: &Path, below: &RelPath) -> io::Result<Self> {
        fs::create_dir_all(output)?;
        Ok(Self { path: make(output, below.as_path())? })
    }

    /// Opens an existing directory, unless it is a link.
    ///
    /// # Errors
    /// When it is a link or no directory, or cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(path)?.is_dir() {
            Ok(Self { path: path.to_owned() })
        } else {
            Err(not_plain())
        }
    }

    /// Opens the operator's own directory, whatever links lead there.
    ///
    /// # Errors
    /// When it is no directory or cannot be opened.
    pub fn open_operators(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.is_dir() {
            Ok(Self { path: path.to_owned() })
        } else {
            Err(not_plain())
        }
    }

    /// Makes a fresh one in a directory for temporary files. It stays until somebody removes it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn fresh(temp: &Path) -> io::Result<Self> {
        let path = temp.join(format!("ash-results-{}", unguessable()));
        fs::create_dir(&path)?;
        Ok(Self { path })
    }

    /// The same for results that nobody reads.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn throwaway(temp: &Path) -> io::Result<Self> {
        Self::fresh(temp)
    }

    /// Removes the directory itself with everything in it.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn discard(self) -> io::Result<()> {
        fs::remove_dir_all(self.path)
    }

    /// Its path, as made.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file: new, then renamed over whatever has the name.
    ///
    /// # Errors
    /// When a part of the way is a link or no directory, or the system refuses.
    pub fn write_file(&self, path: &RelPath, bytes: &[u8]) -> io::Result<()> {
        let target = self.path.join(path.as_path());
        let parent = make(&self.path, path.as_path().parent().unwrap_or(Path::new("")))?;
        let temporary = parent.join(format!(".ash-{}", unguessable()));
        let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, target));
        if written.is_err() {
            // The first error is the one to report.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Reads a file; `None` when there is none. Only a regular file not reached through a link.
    ///
    /// # Errors
    /// When it is anything else, larger than `limit` bytes, or cannot be read.
    pub fn read_file(&self, path: &RelPath, limit: u64) -> Result<Option<Vec<u8>>, ReadRefused> {
        let shown = || path.printable();
        let mut here = self.path.clone();
        let mut last_is_file = false;
        for component in path.as_path().components() {
            here.push(component);
            match fs::symlink_metadata(&here) {
                Ok(meta) if meta.is_symlink() => return Err(ReadRefused::NotRegular(shown())),
                Ok(meta) => last_is_file = meta.is_file(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(ReadRefused::Io(shown(), error)),
            }
        }
        if !last_is_file {
            return Err(ReadRefused::NotRegular(shown()));
        }
        let mut bytes = vec![];
        let read = fs::File::open(&here)
            .and_then(|file| file.take(limit.saturating_add(1)).read_to_end(&mut bytes));
        read.map_err(|error| ReadRefused::Io(shown(), error))?;
        if bytes.len() as u64 > limit {
            Err(ReadRefused::TooLarge(shown(), limit))
        } else {
            Ok(Some(bytes))
        }
    }

    /// Removes links, counts.
    ///
    /// # Errors
    /// When the directory cannot be walked: then nothing in it may be read.
    pub fn sweep(&self, limits: &ReadLimits) -> io::Result<Swept> {
        let mut swept = Swept::default();
        let mut pending = vec![(self.path.clone(), 1)];
        while let Some((dir, depth)) = pending.pop() {
            for entry in fs::read_dir(&dir)? {
                let entry = entry?;
                let meta = fs::symlink_metadata(entry.path())?;
                swept.entries += 1;
                if meta.is_dir() {
                    pending.push((entry.path(), depth + 1));
                } else if meta.is_file() {
                    swept.bytes = swept.bytes.saturating_add(meta.len());
                } else {
                    // A link to a directory is removed like one.
                    let gone =
                        fs::remove_file(entry.path()).or_else(|_| fs::remove_dir(entry.path()));
                    if gone.is_ok() { swept.removed += 1 } else { swept.failed += 1 }
                }
                swept.check(depth, limits);
            }
        }
        Ok(swept)
    }

    /// Removes everything in it.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            if fs::symlink_metadata(&path)?.is_dir() {
                fs::remove_dir_all(&path)?;
            } else {
                fs::remove_file(&path).or_else(|_| fs::remove_dir(&path))?;
            }
        }
        Ok(())
    }
}

/// Makes the directories of a path one by one; a link among them is refused.
fn make(top: &Path, below: &Path) -> io::Result<PathBuf> {
    let mut here = top.to_owned();
    for component in below.components() {
        here.push(component);
        match fs::create_dir(&here) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        if !fs::symlink_metadata(&here)?.is_dir() {
            return Err(not_plain());
        }
    }
    Ok(here)
}

fn not_plain() -> io::Error {
    io::Error::new(io::ErrorKind::NotADirectory, "it is a link or no directory")
}

fn unguessable() -> String {
    format!(
        "{:016x}{:016x}",
        RandomState::new().hash_one(std::process::id()),
        RandomState::new().hash_one(0)
    )
}
