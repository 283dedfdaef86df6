//! Operating-system strings as JSON: text where they are UTF-8, an array of bytes where they are not.
//!
//! serde's own form is an array of numbers for every string, several times the size, on a path that every spawn walks twice.

use std::ffi::{OsStr, OsString};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Deserialize)]
struct Owned(#[serde(deserialize_with = "one::deserialize")] OsString);

struct Borrowed<'a>(&'a OsStr);

impl Serialize for Borrowed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_seq(self.0.as_encoded_bytes()),
        }
    }
}

/// One string.
pub(crate) mod one {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        value: &OsStr,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Borrowed(value).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<OsString, D::Error> {
        deserializer.deserialize_any(TextOrBytes)
    }
}

/// A list of them.
pub(crate) mod list {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        values: &[OsString],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|value| Borrowed(value)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<OsString>, D::Error> {
        Ok(Vec::<Owned>::deserialize(deserializer)?.into_iter().map(|value| value.0).collect())
    }
}

/// A list of name and value.
pub(crate) mod pairs {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        values: &[(OsString, OsString)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|(name, value)| (Borrowed(name), Borrowed(value))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(OsString, OsString)>, D::Error> {
        Ok(Vec::<(Owned, Owned)>::deserialize(deserializer)?
            .into_iter()
            .map(|(name, value)| (name.0, value.0))
            .collect())
    }
}

struct TextOrBytes;

impl<'de> serde::de::Visitor<'de> for TextOrBytes {
    type Value = OsString;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("text or an array of bytes")
    }

    fn visit_str<E>(self, text: &str) -> Result<OsString, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<OsString, E> {
        Ok(text.into())
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<OsString, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = seq.next_element::<u8>()? {
            bytes.push(byte);
        }
        from_bytes(bytes).ok_or_else(|| serde::de::Error::custom("not a string of this system"))
    }
}

#[cfg(unix)]
fn from_bytes(bytes: Vec<u8>) -> Option<OsString> {
    Some(std::os::unix::ffi::OsStringExt::from_vec(bytes))
}

/// Elsewhere only UTF-8 can be rebuilt without `unsafe`; nothing else crosses this wire there.
#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> Option<OsString> {
    String::from_utf8(bytes).ok().map(OsString::from)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct All {
        #[serde(with = "one")]
        one: OsString,
        #[serde(with = "list")]
        list: Vec<OsString>,
        #[serde(with = "pairs")]
        pairs: Vec<(OsString, OsString)>,
    }

    #[test]
    fn any_bytes_survive_the_wire_and_text_stays_text() {
        let odd = OsString::from_vec(vec![b'/', 0xff, b'"', b'\n']);
        let all = All {
            one: odd.clone(),
            list: vec!["/usr/bin".into(), odd.clone()],
            pairs: vec![("A".into(), odd), ("é".into(), "".into())],
        };
        let json = serde_json::to_string(&all).unwrap();
        assert!(json.contains(r#""/usr/bin""#) && json.contains("[47,255,34,10]"), "{json}");
        assert_eq!(serde_json::from_str::<All>(&json).unwrap(), all);
    }
}
