//! A JSON text as a tree of what a rank table can have.
//!
//! Not `serde_json::Value`, for three reasons: keys that no table has are not kept, however much
//! stands below them; a key that stands in one object twice is a fault instead of a guess; and
//! there is a bound on the size of the tree. The depth is bounded by the reader (128).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::RankTableError;

/// A value. What is neither a whole number nor anything else of these is kept for messages only.
#[derive(Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Whole(u64),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<&'static str, Json>),
}

/// All keys of all kinds of tables.
const KEYS: &[&str] = &[
    "addr",
    "addr_type",
    "backup_device_ip",
    "backup_device_port",
    "device",
    "device_count",
    "device_id",
    "device_ip",
    "device_port",
    "devices",
    "group_count",
    "group_list",
    "host_ip",
    "host_port",
    "instance_count",
    "instance_list",
    "level_list",
    "local_id",
    "net_instance_id",
    "net_layer",
    "net_type",
    "plane_id",
    "pod_name",
    "ports",
    "rank_addr_list",
    "rank_count",
    "rank_id",
    "rank_list",
    "server_count",
    "server_id",
    "server_list",
    "status",
    "super_device_id",
    "super_pod_id",
    "super_pod_list",
    "version",
];

/// As many values as the longest sensible table has: 1024 for each of 65536 ranks.
const VALUES_MAX: usize = 1 << 26;
/// An object takes as much memory as so many values, however little is in it.
const OBJECT: usize = 16;

impl Json {
    /// Reads a text.
    pub(crate) fn parse(text: &str) -> Result<Self, RankTableError> {
        Self::parse_bounded(text, VALUES_MAX)
    }

    fn parse_bounded(text: &str, values_max: usize) -> Result<Self, RankTableError> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let left = Cell::new(values_max);
        let tree = Tree { left: &left }.deserialize(&mut reader);
        tree.and_then(|tree| reader.end().map(|()| tree)).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let text = error.to_string();
            let place = format!(" at line {line} column {column}");
            let why = text.strip_suffix(&place).unwrap_or(&text).to_owned();
            RankTableError::NotJson { line, column, why }
        })
    }
}

/// Reads a value while `left` lasts.
#[derive(Clone, Copy)]
struct Tree<'a> {
    left: &'a Cell<usize>,
}

impl Tree<'_> {
    fn take<E: Error>(self, values: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(values);
        self.left.set(left.ok_or_else(|| E::custom("there are too many values"))?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Json, D::Error> {
        self.take(1)?;
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Whole(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(u64::try_from(value).map_or(Json::Number(value as f64), Json::Whole))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        self.take(OBJECT)?;
        let mut object = BTreeMap::new();
        while let Some(Key(key)) = entries.next_key_seed(Key(None))? {
            let Some(key) = key else {
                entries.next_value::<IgnoredAny>()?;
                continue;
            };
            if object.insert(key, entries.next_value_seed(self)?).is_some() {
                return Err(A::Error::custom(format_args!("the key {key} stands there twice")));
            }
        }
        Ok(Json::Object(object))
    }
}

/// A key of a table, if it is one.
struct Key(Option<&'static str>);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Self;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, value: &str) -> Result<Self, E> {
        Ok(Self(KEYS.binary_search(&value).ok().map(|at| KEYS[at])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_order() {
        assert!(KEYS.is_sorted());
    }

    #[test]
    fn as_many_values_as_allowed_and_one_more() {
        assert!(Json::parse_bounded("[1, 2, 3]", 4).is_ok());
        let error = Json::parse_bounded("[1, 2, 3, 4]", 4).unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("too many values"), "{error}");
        assert!(Json::parse_bounded("[{}, {}]", 2 * OBJECT + 3).is_ok());
        assert!(Json::parse_bounded("[{}, {}]", 2 * OBJECT + 2).is_err());
    }

    #[test]
    fn keys_of_no_table_are_not_kept() {
        let text = r#"{"other": [1, 2, 3, {"status": 1}], "other": 2, "status": "s"}"#;
        let Json::Object(object) = Json::parse_bounded(text, OBJECT + 2).unwrap() else {
            panic!("an object");
        };
        assert_eq!(object.keys().copied().collect::<Vec<_>>(), ["status"]);
    }
}
