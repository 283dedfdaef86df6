//! Links of the host in directories that firejail replaces by empty ones.
//!
//! The stage inside makes them, but not where firejail 0.9.72 made the directories above something granted: outside the home these are root's.
//! firejail makes a link there if told to show it, together with all that it leads to. Where that is more than was granted, the tool is
//! told the real path.

use std::{
    collections::{BTreeMap, VecDeque},
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

use ash_model::path::{os_string, printable};

use super::{View, WrapError};
use crate::policy::Policy;

/// As many as the kernel follows.
const MOST: usize = 40;

/// Links by who makes them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    /// For the stage to make, or to find as they should be: where, and the real path.
    pub(super) inside: Vec<(PathBuf, PathBuf)>,
    /// For firejail to make.
    pub(super) shown: Vec<PathBuf>,
    /// Not to be had.
    told: Vec<(PathBuf, PathBuf)>,
}

impl View<'_> {
    pub(super) fn links(&self, policy: &Policy) -> Links {
        let texts: BTreeMap<&Path, &Path> =
            policy.links.iter().map(|(place, text)| (place.as_path(), text.as_path())).collect();
        let mut links = Links::default();
        for place in texts.keys().copied().filter(|place| !self.is_host_path(place)) {
            // A loop leads nowhere.
            let Some(real) = follow(place, &texts) else { continue };
            if policy.as_root || !self.is_in_a_directory_of_roots(place) {
                links.inside.push((place.to_owned(), real));
            } else if !real.starts_with("/tmp")
                || self.granted().any(|granted| real.starts_with(granted))
            {
                links.shown.push(place.to_owned());
                links.inside.push((place.to_owned(), real));
            } else {
                links.told.push((place.to_owned(), real));
            }
        }
        links
    }

    /// Whether firejail makes the directory a link is in, or one above that.
    fn is_in_a_directory_of_roots(&self, place: &Path) -> bool {
        let Some(mut below) = place.strip_prefix("/tmp").ok().map(Path::components) else {
            return false;
        };
        let first = below.next().map(|name| Path::new("/tmp").join(name));
        below.next().is_some()
            && first.is_some_and(|dir| self.granted().any(|granted| granted.starts_with(&dir)))
    }
}

/// Where a link leads in the end, by the links that were followed when the policy was made.
fn follow(place: &Path, texts: &BTreeMap<&Path, &Path>) -> Option<PathBuf> {
    let names = |path: &Path| -> Vec<OsString> {
        let kept =
            |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
        path.components().filter(kept).map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut pending = VecDeque::from(names(place));
    let mut real = PathBuf::from("/");
    let mut followed = 0;
    while let Some(name) = pending.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let here = real.join(name);
        let Some(text) = texts.get(here.as_path()) else {
            real = here;
            continue;
        };
        followed += 1;
        if followed > MOST {
            return None;
        }
        if text.is_absolute() {
            real = PathBuf::from("/");
        }
        names(text).into_iter().rev().for_each(|part| pending.push_front(part));
    }
    Some(real)
}

impl Links {
    /// Puts real paths for the links that are not to be had into words a tool is started with.
    ///
    /// # Errors
    /// When a word may name one in a way that is not understood.
    pub(super) fn tell<'w>(
        &self,
        words: impl Iterator<Item = &'w mut OsString>,
    ) -> Result<(), WrapError> {
        if self.told.is_empty() {
            return Ok(());
        }
        for word in words {
            for (place, real) in &self.told {
                let bytes = word.as_encoded_bytes();
                *word = replace(bytes, bytes_of(place), bytes_of(real)).map(os_string).ok_or_else(
                    || WrapError::Unshowable {
                        backend: "firejail",
                        link: printable(place.as_os_str()),
                        real: printable(real.as_os_str()),
                    },
                )?;
            }
        }
        Ok(())
    }
}

fn bytes_of(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// Replaces a path wherever it stands as such. `None`: it may be part of another one.
fn replace(word: &[u8], place: &[u8], real: &[u8]) -> Option<Vec<u8>> {
    let is_name =
        |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"_.-~".contains(byte);
    let mut out = vec![];
    let mut rest = word;
    while let Some(at) = rest.windows(place.len()).position(|window| window == place) {
        let (before, from) = rest.split_at(at);
        let after = &from[place.len()..];
        out.extend_from_slice(before);
        if after.first().is_some_and(is_name) {
            // Another name that only begins alike.
            out.extend_from_slice(place);
        } else if out.last().is_some_and(|byte| is_name(byte) || *byte == b'/') {
            return None;
        } else {
            out.extend_from_slice(real);
        }
        rest = after;
    }
    out.extend_from_slice(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_replaced_where_it_is_one() {
        let told =
            Links { told: vec![("/tmp/x/l".into(), "/tmp/x/real".into())], ..Links::default() };
        for (word, expected) in [
            ("/tmp/x/l", Some("/tmp/x/real")),
            ("--out=/tmp/x/l/sub,/tmp/x/l", Some("--out=/tmp/x/real/sub,/tmp/x/real")),
            ("cat '/tmp/x/l/a' /tmp/x/list", Some("cat '/tmp/x/real/a' /tmp/x/list")),
            ("/usr/bin:/tmp/x/l/bin", Some("/usr/bin:/tmp/x/real/bin")),
            ("/tmp/x/l.d", Some("/tmp/x/l.d")),
            ("/srv/tmp/x/l/a", None),
            ("-I/tmp/x/l", None),
            ("file:///tmp/x/l", None),
        ] {
            let mut words = [OsString::from(word)];
            let result = told.tell(words.iter_mut());
            assert_eq!(result.is_ok().then_some(words[0].to_str().unwrap()), expected, "{word}");
        }
    }

    #[test]
    fn a_link_is_followed_through_others_and_a_loop_is_not() {
        let texts = BTreeMap::from(
            [("/tmp/a", "b/c"), ("/tmp/b", "../srv"), ("/tmp/loop", "loop")]
                .map(|(place, text)| (Path::new(place), Path::new(text))),
        );
        assert_eq!(follow(Path::new("/tmp/a"), &texts), Some("/srv/c".into()));
        assert_eq!(follow(Path::new("/tmp/loop"), &texts), None);
    }
}
