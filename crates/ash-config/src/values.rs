//! What single values mean: truth, numbers, dates and versions in the forms people write them.

use crate::tree::{Kind, Node};

/// True or false, also in the words YAML 1.1 and people use for them.
pub(crate) fn as_bool(node: &Node) -> Option<bool> {
    match &node.kind {
        Kind::Bool(value) => Some(*value),
        Kind::Int(0) => Some(false),
        Kind::Int(1) => Some(true),
        Kind::Text(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "y" | "t" | "1" => Some(true),
            "false" | "no" | "off" | "n" | "f" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

pub(crate) fn as_int(node: &Node) -> Option<i64> {
    match &node.kind {
        Kind::Int(value) => Some(*value),
        Kind::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

pub(crate) fn as_number(node: &Node) -> Option<f64> {
    match &node.kind {
        #[expect(
            clippy::cast_precision_loss,
            reason = "seconds and megabytes; nobody counts past 2^53"
        )]
        Kind::Int(value) => Some(*value as f64),
        Kind::Float(value) => Some(*value),
        Kind::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
    .filter(|value: &f64| value.is_finite())
}

/// A day that exists, as `YYYY-MM-DD`.
pub(crate) fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let number = |part: &str, length: usize| {
        let digits = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse::<u32>().ok()).flatten()
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2))
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    };
    (1..=12).contains(&month) && (1..=days).contains(&day)
}

/// A PEP 440 version specifier: comparisons joined by commas.
pub(crate) fn is_specifier(text: &str) -> bool {
    let version = |text: &str| {
        !text.is_empty()
            && text.starts_with(|c: char| c.is_ascii_digit() || c == 'v')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".*+!-_".contains(&byte))
    };
    let comparison = |part: &str| {
        let part = part.trim();
        ["===", "==", "!=", "<=", ">=", "~=", "<", ">"]
            .iter()
            .find_map(|sign| part.strip_prefix(sign))
            .is_some_and(|rest| version(rest.trim()))
    };
    !text.is_empty() && text.split(',').all(comparison)
}

pub(crate) fn is_release_tag(text: &str) -> bool {
    let digits = text.strip_prefix('v').unwrap_or(text);
    digits.split('.').count() == 3
        && digits
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}
