// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Locations in stores beyond the local files, told by the usual environment variables: a web server stands in for all.

// Tests fail by panicking, their helpers too.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use rstest::rstest;

/// Serves the files of a folder, parts of them too, and returns the server's URL. It ends with the tests.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that hangs up fails its own test.
            let _ = answer(stream, &folder);
        }
    });
    url
}

/// Answers one request, then closes the connection.
fn answer(mut stream: TcpStream, folder: &Path) -> Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let mut words = request.split([' ', '?']);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut range = None;
    for line in lines {
        let line = line?.to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some((from, to)) = line.strip_prefix("range: bytes=").and_then(|range| range.split_once('-')) {
            range = from.parse::<usize>().ok().zip(to.parse::<usize>().ok());
        }
    }
    let Ok(file) = fs::read(folder.join(path.trim_start_matches('/'))) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let (from, to) = range.map_or((0, file.len()), |(from, to)| (from, file.len().min(to + 1)));
    let (status, length) = (if range.is_some() { "206 Partial Content" } else { "200 OK" }, to - from);
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nContent-Range: bytes {from}-{}/{}\r\nETag: \"1\"\r\n\
         Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\nConnection: close\r\n\r\n",
        to.saturating_sub(1),
        file.len()
    )?;
    if method == "GET" {
        stream.write_all(&file[from..to])?;
    }
    Ok(())
}

#[rstest]
#[case::web("{url}/box/a.parquet", &[])]
#[case::s3("s3://box/a.parquet", &[("AWS_ENDPOINT", "{url}"), ("AWS_ALLOW_HTTP", "true"), ("AWS_REGION", "here"),
    ("AWS_ACCESS_KEY_ID", "me"), ("AWS_SECRET_ACCESS_KEY", "x")])]
#[case::azure("az://box/a.parquet", &[("AZURE_STORAGE_ENDPOINT", "{url}"), ("AZURE_ALLOW_HTTP", "true"),
    ("AZURE_STORAGE_ACCOUNT_NAME", "me"), ("AZURE_SKIP_SIGNATURE", "true")])]
fn stores_are_told_by_the_environment(#[case] location: &str, #[case] environment: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let url = serve(folder.path().to_owned());
    let call = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trommel"));
        command.args(args).current_dir(folder.path()).stdin(Stdio::null());
        command.envs(environment.iter().map(|(name, value)| (name, value.replace("{url}", &url))));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    fs::create_dir(folder.path().join("box")).unwrap();
    call(&["sql", "-c", "COPY (SELECT 7 AS x UNION ALL SELECT 8) TO 'box/a.parquet'"]);
    let table = format!("t={}", location.replace("{url}", &url));
    let sum = call(&["sql", "--format", "csv", "--table", &table, "-c", "SELECT sum(x) AS x FROM t"]);
    assert_eq!(sum, "x\n15\n");
}
