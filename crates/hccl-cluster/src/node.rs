//! A place in a tree: what stands there, and the way to it, so that every fault can name it.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use crate::error::RankTableError;
use crate::json::Json;

type Result<T> = std::result::Result<T, RankTableError>;

/// More characters of a value than this are not shown.
const SHOWN_MAX: usize = 128;

/// A value and the way to it. The way is spelled out only when there is a fault to tell.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    json: &'a Json,
    step: Step,
    parent: Option<&'a Node<'a>>,
}

#[derive(Clone, Copy)]
enum Step {
    Root,
    Key(&'static str),
    Item(usize),
}

impl<'a> Node<'a> {
    pub(crate) fn root(json: &'a Json) -> Self {
        Self { json, step: Step::Root, parent: None }
    }

    /// The way to it: `server_list[1].device[0]`.
    pub(crate) fn way(&self) -> String {
        let mut way = self.parent.map(Node::way).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Item(index) => way.push_str(&format!("[{index}]")),
            Step::Key(key) => {
                if !way.is_empty() {
                    way.push('.');
                }
                way.push_str(key);
            }
        }
        way
    }

    /// The value of a key, if it is there. A null says that it is not.
    pub(crate) fn find<'b>(&'b self, key: &'static str) -> Result<Option<Node<'b>>> {
        let Json::Object(object) = self.json else {
            return Err(self.bad("an object"));
        };
        let json = object.get(key).filter(|json| !matches!(json, Json::Null));
        Ok(json.map(|json| Node { json, step: Step::Key(key), parent: Some(self) }))
    }

    /// The value of a key that must be there.
    pub(crate) fn need<'b>(&'b self, key: &'static str) -> Result<Node<'b>> {
        self.find(key)?.ok_or_else(|| self.missing(key))
    }

    /// The fault that a key is not there.
    pub(crate) fn missing(&self, key: &'static str) -> RankTableError {
        let way = Node { json: self.json, step: Step::Key(key), parent: Some(self) }.way();
        RankTableError::MissingKey { key: way }
    }

    /// The items of a list of such a length.
    pub(crate) fn items<'b>(
        &'b self,
        range: RangeInclusive<usize>,
    ) -> Result<impl ExactSizeIterator<Item = Node<'b>>> {
        let Json::List(list) = self.json else {
            return Err(self.bad("a list"));
        };
        if !range.contains(&list.len()) {
            return Err(self.bad(format!("{} to {} entries", range.start(), range.end())));
        }
        let items = list.iter().enumerate();
        Ok(items.map(|(index, json)| Node { json, step: Step::Item(index), parent: Some(self) }))
    }

    /// A number in a range. Tables before 2.0 write numbers as texts and 2.0 writes them as
    /// numbers; digits mean the same in both, so both are taken in all.
    pub(crate) fn whole(&self, range: RangeInclusive<u64>) -> Result<u64> {
        self.digits().flatten().filter(|value| range.contains(value)).ok_or_else(|| {
            self.bad(format!("a decimal number from {} to {}", range.start(), range.end()))
        })
    }

    /// `None` if this is no number, `Some(None)` if it is too large for one.
    fn digits(&self) -> Option<Option<u64>> {
        match self.json {
            Json::Whole(value) => Some(Some(*value)),
            Json::Text(text) => {
                let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                digits.then(|| text.parse().ok())
            }
            _ => None,
        }
    }

    /// The id of a rank. What is no number at all has a code of its own.
    pub(crate) fn rank_id(&self, max: u32) -> Result<u32> {
        if self.digits().is_none() {
            return Err(RankTableError::BadRankId { variable: self.way(), value: self.shown() });
        }
        self.whole(0..=u64::from(max)).map(|value| value as u32)
    }

    pub(crate) fn port(&self) -> Result<u16> {
        self.whole(1..=65535).map(|value| value as u16)
    }

    /// A text of such a length. A whole number is taken as its digits.
    pub(crate) fn text(&self, range: RangeInclusive<usize>) -> Result<String> {
        let text = match self.json {
            Json::Text(text) => Some(text.clone()),
            Json::Whole(value) => Some(value.to_string()),
            _ => None,
        };
        let fits = |text: &String| range.contains(&text.chars().count());
        text.filter(fits).ok_or_else(|| match (*range.start(), *range.end()) {
            (1, usize::MAX) => self.bad("a text that is not empty"),
            (least, most) => self.bad(format!("a text of {least} to {most} characters")),
        })
    }

    /// One of these words.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T> {
        let found = words.iter().find(|(word, _)| self.is(word));
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.bad(words.join(" or "))
        })
    }

    /// Is it this text?
    pub(crate) fn is(&self, word: &str) -> bool {
        matches!(self.json, Json::Text(text) if text == word)
    }

    /// Is it this number, with a fraction?
    pub(crate) fn is_number(&self, number: f64) -> bool {
        matches!(self.json, Json::Number(value) if *value == number)
    }

    pub(crate) fn ip(&self) -> Result<IpAddr> {
        let Json::Text(text) = self.json else {
            return Err(self.bad("an IPv4 or IPv6 address as a text"));
        };
        text.parse().map_err(|_| self.bad("an IPv4 or IPv6 address"))
    }

    /// The fault that this may not stand here.
    pub(crate) fn bad(&self, expect: impl Into<String>) -> RankTableError {
        let way = self.way();
        let variable = if way.is_empty() { "rank table".to_owned() } else { way };
        RankTableError::BadValue { variable, value: self.shown(), expect: expect.into() }
    }

    /// What stands here, for people: short, and without line breaks.
    pub(crate) fn shown(&self) -> String {
        match self.json {
            Json::Null => "null".to_owned(),
            Json::Bool(value) => value.to_string(),
            Json::Whole(value) => value.to_string(),
            Json::Number(value) => value.to_string(),
            Json::Text(text) => shown(text),
            Json::List(list) => format!("a list of {}", list.len()),
            Json::Object(_) => "an object".to_owned(),
        }
    }
}

/// A text for people: short, and without line breaks.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == SHOWN_MAX {
            shown.push_str("...");
            break;
        }
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}
