// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Where a table's files are: one file, a folder with everything below it, or the files a glob names.

use std::fmt;

use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::execution::object_store::ObjectStoreUrl;
use glob::{MatchOptions, Pattern};
use object_store::path::Path;
use percent_encoding::percent_decode_str;

/// One of a table's locations, as [`ListingTableUrl`] understands paths and URLs; a URL with a scheme may hold a
/// glob too (`s3://bucket/sales/*.parquet`).
///
/// Its text, as errors and plans show it, is without secrets: a password, or the query of a URL, which signs it.
#[derive(Clone, PartialEq, Eq)]
pub struct Location {
    url: ListingTableUrl,
    text: String,
}

/// `*` stays within a folder and `**` doesn't, as in a shell.
const GLOB_RULES: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

impl Location {
    /// The location that a path, a URL or a glob names.
    ///
    /// # Errors
    /// Text that is neither a path nor a URL, or a malformed glob.
    pub fn parse(text: &str) -> Result<Self> {
        let url = match split_url_glob(text) {
            Some((base, glob)) => {
                let glob = percent_decode_str(glob).decode_utf8_lossy();
                ListingTableUrl::parse(base).and_then(|url| url.with_glob(&glob))
            }
            None => ListingTableUrl::parse(text),
        };
        let text = without_secrets(text);
        let url = url.map_err(|e| e.context(format!("location '{text}'")))?;
        Ok(Self { url, text })
    }

    /// The store the location is in.
    pub fn store(&self) -> ObjectStoreUrl {
        self.url.object_store()
    }

    /// The path of the file or folder, or of the folder the glob starts from.
    pub fn base(&self) -> &Path {
        self.url.prefix()
    }

    /// Whether the location can only be a folder: it ends with `/`, or holds a glob.
    pub fn is_folder(&self) -> bool {
        self.url.is_collection()
    }

    /// Whether the location is a glob.
    pub fn is_glob(&self) -> bool {
        self.url.get_glob().is_some()
    }

    /// The names of the folders below the location, and of the file: what of `path` lies below the base.
    /// `None` if it doesn't lie there; empty for the base itself.
    pub fn below<'a>(&self, path: &'a Path) -> Option<Vec<&'a str>> {
        let rest = path.as_ref().strip_prefix(self.base().as_ref())?;
        let rest = match rest.strip_prefix('/') {
            Some(rest) => rest,
            None if rest.is_empty() || self.base().as_ref().is_empty() => rest,
            None => return None,
        };
        Some(rest.split_terminator('/').collect())
    }

    /// Whether the glob, if there is one, takes the file at this place below the base. It sees the whole
    /// path, or the path without its `k=v` folders: both `year=*/*.parquet` and `*.parquet` take
    /// `year=2024/1.parquet`.
    pub fn takes(&self, below: &[&str]) -> bool {
        let matches = |glob: &Pattern, path: String| glob.matches_with(&path, GLOB_RULES);
        self.url.get_glob().as_ref().is_none_or(|glob| {
            let plain: Vec<_> = below.iter().copied().filter(|name| !name.contains('=')).collect();
            matches(glob, below.join("/")) || matches(glob, plain.join("/"))
        })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Location").field(&self.text).finish()
    }
}

impl TryFrom<&str> for Location {
    type Error = DataFusionError;

    fn try_from(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

/// Splits a URL with a scheme before the first path segment that holds a glob. A glob begins with `*` or `[`,
/// as `?` begins a URL's query; a file whose name holds one of these spells it `%2A` or `%5B`.
fn split_url_glob(text: &str) -> Option<(&str, &str)> {
    let path = text.find("://")? + "://".len();
    let glob = path + text[path..].find(['*', '['])?;
    let slash = path + text[path..glob].rfind('/')?;
    Some(text.split_at(slash + 1))
}

/// The text of a location with stars for what may be a secret. A path has none.
fn without_secrets(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, _)| (rest, "?***"));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // A name alone is the container of an Azure account.
    let secret = authority.rsplit_once('@').and_then(|(user, host)| Some((user.split_once(':')?.0, host)));
    match secret {
        Some((user, host)) => format!("{scheme}://{user}:***@{host}{path}{query}"),
        None => format!("{scheme}://{authority}{path}{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::password("https://me:hush@host:81/a/b.parquet", "https://me:***@host:81/a/b.parquet")]
    #[case::password_with_signs("https://me:h@s:h@host", "https://me:***@host")]
    #[case::signature("https://host/a?X-Amz-Signature=hush", "https://host/a?***")]
    #[case::container("abfss://box@account/a/", "abfss://box@account/a/")]
    #[case::path("/a@b:c/d?.parquet", "/a@b:c/d?.parquet")]
    #[case::at_in_the_path("s3://bucket/a:b@c/d", "s3://bucket/a:b@c/d")]
    fn secrets_are_not_shown(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(without_secrets(text), shown);
    }

    #[rstest]
    #[case::folder("s3://b/data/", "data/x/1.parquet", Some(vec!["x", "1.parquet"]))]
    #[case::folder_without_slash("s3://b/data", "data/1.parquet", Some(vec!["1.parquet"]))]
    #[case::the_file_itself("s3://b/data/1.parquet", "data/1.parquet", Some(vec![]))]
    #[case::the_whole_store("memory:///", "a/1.parquet", Some(vec!["a", "1.parquet"]))]
    #[case::a_neighbour("s3://b/data", "data2/1.parquet", None)]
    #[case::elsewhere("s3://b/data/", "other/1.parquet", None)]
    fn what_lies_below(#[case] location: &str, #[case] path: &str, #[case] expected: Option<Vec<&str>>) {
        let location = Location::parse(location).unwrap();
        assert_eq!(location.below(&Path::from(path)), expected);
    }

    #[rstest]
    #[case::in_a_path("/d/*.parquet", "d", "1.parquet", true)]
    #[case::in_a_url("s3://b/d/*.parquet", "d", "1.parquet", true)]
    #[case::a_star_stays_in_its_folder("s3://b/d/*.parquet", "d", "x/1.parquet", false)]
    #[case::two_stars_do_not("s3://b/d/**/*.parquet", "d", "x/y/1.parquet", true)]
    #[case::two_stars_may_be_nothing("s3://b/d/**/*.parquet", "d", "1.parquet", true)]
    #[case::a_set("/d/[ab].parquet", "d", "b.parquet", true)]
    #[case::a_set_in_a_url("s3://b/d/[ab].parquet", "d", "c.parquet", false)]
    #[case::a_folder_pattern("/d/x*/1.parquet", "d", "xy/1.parquet", true)]
    #[case::hive_folders_named("/d/k=*/*.parquet", "d", "k=1/1.parquet", true)]
    #[case::hive_folders_chosen("/d/k=2*/*.parquet", "d", "k=1/1.parquet", false)]
    #[case::hive_folders_left_out("/d/*.parquet", "d", "k=1/1.parquet", true)]
    #[case::escapes_in_a_url("s3://b/d/a%20*.parquet", "d", "a b.parquet", true)]
    #[case::no_glob("s3://b/d/", "d", "x/1.parquet", true)]
    fn globs(#[case] location: &str, #[case] base: &str, #[case] below: &str, #[case] takes: bool) {
        let location = Location::parse(location).unwrap();
        assert_eq!(location.base().as_ref(), base);
        assert_eq!(location.takes(&below.split('/').collect::<Vec<_>>()), takes);
    }

    #[rstest]
    #[case::a_malformed_glob("/d/[a.parquet")]
    #[case::a_url_without_a_host("http://")]
    fn text_that_is_no_location(#[case] text: &str) {
        let error = Location::parse(text).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}
