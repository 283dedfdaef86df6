//! Which findings are dropped (`ignore_paths`) and which do not count (`suppressions`).

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use ash_model::{
    finding::{Finding, Region},
    path::RelPath,
};
use serde_json::{Map, Value};

use crate::{
    glob::Pattern,
    settings::{IgnorePath, PackageRule, SuppressionRule},
};

/// Paths whose rules are remembered; findings come in the order of files, and a scan has more findings than files.
const REMEMBERED: usize = 65_536;

/// Every rule of a scan, compiled once.
#[derive(Debug)]
pub struct Matcher {
    ignored: Paths,
    /// Directories of which everything below is ignored.
    ignored_below: Paths,
    suppressed: Paths,
    rules: Vec<Compiled>,
    remembered: Mutex<HashMap<RelPath, Arc<[usize]>>>,
}

/// The parts of a suppression besides its path.
#[derive(Debug)]
struct Compiled {
    rule_id: Option<Pattern>,
    lines: Lines,
    symbol: Option<String>,
    package: Package,
}

/// What is asked of the package a finding is about.
#[derive(Debug)]
struct Package([(&'static str, Option<Pattern>); 3]);

/// Path patterns, those without a wildcard found by look-up.
#[derive(Debug, Default)]
struct Paths {
    literal: HashMap<String, Vec<usize>>,
    patterns: Vec<(Pattern, usize)>,
}

/// The lines a suppression is about.
#[derive(Debug, Clone, Copy)]
enum Lines {
    Any,
    From(u64),
    UpTo(u64),
    Between(u64, u64),
}

impl Matcher {
    /// Compiles the rules that apply on a day (`YYYY-MM-DD`, UTC). Expired rules are left out.
    pub fn new(ignore_paths: &[IgnorePath], suppressions: &[SuppressionRule], today: &str) -> Self {
        let ignored: Vec<(usize, &str)> = ignore_paths
            .iter()
            .filter(|rule| !is_expired(rule.expiration.as_deref(), today))
            .map(|rule| rule.path.as_str())
            .enumerate()
            .collect();
        // `a/*` covers everything below `a` as `a/**` does: `*` stands for slashes, too.
        let below = ignored.iter().filter_map(|(index, path)| {
            Some((*index, path.strip_suffix("/**").or_else(|| path.strip_suffix("/*"))?))
        });
        let suppressed =
            suppressions.iter().enumerate().filter(|(_, rule)| !rule.is_expired(today));
        Self {
            ignored_below: Paths::new(below),
            ignored: Paths::new(ignored.iter().copied()),
            suppressed: Paths::new(suppressed.map(|(index, rule)| (index, rule.path.as_str()))),
            rules: suppressions.iter().map(Compiled::new).collect(),
            remembered: Mutex::default(),
        }
    }

    /// Whether findings in this file are dropped.
    pub fn ignored(&self, path: &Path) -> bool {
        !self.ignored.is_empty() && !self.ignored.find(&lower(path)).is_empty()
    }

    /// Whether findings in all files below this directory are dropped, as a single pattern says it.
    pub fn ignored_below(&self, directory: &Path) -> bool {
        !self.ignored_below.is_empty() && !self.ignored_below.find(&lower(directory)).is_empty()
    }

    /// The suppressions, as indices into the list given and in its order, that cover a finding. A finding without a file is never
    /// suppressed. `within` says whether the finding lies in the symbol a suppression names; a suppression without one does not ask.
    pub fn suppressions(
        &self,
        finding: &Finding,
        within: &dyn Fn(&str, &Finding) -> bool,
    ) -> Vec<usize> {
        let Some(location) = &finding.location else { return Vec::new() };
        let candidates = self.candidates(&location.path);
        if candidates.is_empty() {
            return Vec::new();
        }
        let rule_id = finding.rule_id.to_lowercase();
        let covers = |index: &usize| {
            let rule = &self.rules[*index];
            rule.covers(&rule_id, location.region)
                && rule.package.covers(&finding.properties)
                && rule.symbol.as_ref().is_none_or(|symbol| within(symbol, finding))
        };
        candidates.iter().copied().filter(covers).collect()
    }

    fn candidates(&self, path: &RelPath) -> Arc<[usize]> {
        if self.suppressed.is_empty() {
            return Arc::default();
        }
        let lock = || self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(path) {
            return Arc::clone(known);
        }
        let found: Arc<[usize]> = self.suppressed.find(&lower(path.as_path())).into();
        let mut remembered = lock();
        if remembered.len() < REMEMBERED {
            remembered.insert(path.clone(), Arc::clone(&found));
        }
        found
    }
}

impl Compiled {
    fn new(rule: &SuppressionRule) -> Self {
        let lines = match (rule.line_start, rule.line_end) {
            (None, None) => Lines::Any,
            (Some(start), None) => Lines::From(start),
            (None, Some(end)) => Lines::UpTo(end),
            (Some(start), Some(end)) => Lines::Between(start, end),
        };
        Self {
            rule_id: rule.rule_id.as_deref().map(Pattern::new),
            lines,
            symbol: rule.symbol.clone(),
            package: Package::new(&rule.package),
        }
    }

    fn covers(&self, rule_id: &str, region: Option<Region>) -> bool {
        self.rule_id.as_ref().is_none_or(|pattern| pattern.matches(rule_id))
            && self.lines.cover(region)
    }
}

impl Package {
    fn new(rule: &PackageRule) -> Self {
        let pattern = |text: &Option<String>| text.as_deref().map(Pattern::new);
        Self([
            ("package_name", pattern(&rule.name)),
            ("package_version", pattern(&rule.version)),
            ("package_path", pattern(&rule.path)),
        ])
    }

    /// A finding that does not say what is asked is not covered.
    fn covers(&self, properties: &Map<String, Value>) -> bool {
        self.0.iter().all(|(name, pattern)| {
            pattern.as_ref().is_none_or(|pattern| {
                let said = properties.get(*name).and_then(Value::as_str);
                said.is_some_and(|text| pattern.matches(&text.to_lowercase()))
            })
        })
    }
}

impl Lines {
    /// A finding without a line is covered only by a suppression without lines.
    fn cover(self, region: Option<Region>) -> bool {
        let span = region.map(|region| {
            (region.start_line, region.end_line.unwrap_or(region.start_line).max(region.start_line))
        });
        match (self, span) {
            (Self::Any, _) => true,
            (_, None) => false,
            (Self::From(start), Some((first, _))) => start <= first,
            (Self::UpTo(end), Some((_, last))) => last <= end,
            (Self::Between(start, end), Some((first, last))) => first <= end && start <= last,
        }
    }
}

impl Paths {
    fn new<'a>(rules: impl Iterator<Item = (usize, &'a str)>) -> Self {
        let mut paths = Self::default();
        for (index, text) in rules {
            let pattern = Pattern::new(text);
            match pattern.literal() {
                Some(literal) => paths.literal.entry(literal.to_owned()).or_default().push(index),
                None => paths.patterns.push((pattern, index)),
            }
        }
        paths
    }

    fn is_empty(&self) -> bool {
        self.literal.is_empty() && self.patterns.is_empty()
    }

    /// The rules that match, in their order.
    fn find(&self, path: &str) -> Vec<usize> {
        let mut found = self.literal.get(path).cloned().unwrap_or_default();
        found.extend(
            self.patterns
                .iter()
                .filter(|(pattern, _)| pattern.matches(path))
                .map(|(_, index)| *index),
        );
        found.sort_unstable();
        found
    }
}

fn lower(path: &Path) -> String {
    let text = path.to_string_lossy().to_lowercase();
    if cfg!(windows) { text.replace('\\', "/") } else { text }
}

/// From its date on a rule no longer applies. Dates of one form compare as texts.
fn is_expired(expiration: Option<&str>, today: &str) -> bool {
    expiration.is_some_and(|expiration| expiration <= today)
}

impl SuppressionRule {
    /// What identifies the rule in `used_suppressions`: `path|rule or *|start or *|end or start or *`.
    pub fn id(&self) -> String {
        let line = |line: Option<u64>| line.map_or_else(|| "*".to_owned(), |line| line.to_string());
        let rule = self.rule_id.as_deref().unwrap_or("*");
        format!(
            "{}|{rule}|{}|{}",
            self.path,
            line(self.line_start),
            line(self.line_end.or(self.line_start))
        )
    }

    /// Whether the rule no longer applies on a day.
    pub fn is_expired(&self, today: &str) -> bool {
        is_expired(self.expiration.as_deref(), today)
    }
}

/// The days from a day until an expiration; `None` when either is no date.
pub fn days_left(expiration: &str, today: &str) -> Option<i64> {
    Some(day_number(expiration)? - day_number(today)?)
}

/// Days since the first of March of the year 0, in the Gregorian calendar.
fn day_number(date: &str) -> Option<i64> {
    if !crate::validate::is_date(date) {
        return None;
    }
    let number =
        |range: std::ops::Range<usize>| date.get(range).and_then(|part| part.parse::<i64>().ok());
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    // Years are counted from March, so that the leap day comes last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    Some(
        365 * year + year.div_euclid(4) - year.div_euclid(100)
            + year.div_euclid(400)
            + (153 * month + 2) / 5
            + day
            - 1,
    )
}

#[cfg(test)]
mod tests;
