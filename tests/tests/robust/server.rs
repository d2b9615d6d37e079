// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A web server of one file that fails as it is told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What goes wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// 503 Service Unavailable.
    Unavailable,
    /// 429 Too Many Requests.
    TooMany,
    /// The connection is closed in the middle of the body.
    Broken,
    /// The connection is closed before the answer.
    Closed,
}

/// The server; it stops when it is dropped.
pub struct Server {
    /// Where it is: `http://…`.
    pub url: String,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    file: Vec<u8>,
    requests: AtomicUsize,
    /// For how many requests to come, and what.
    trouble: Mutex<(usize, Option<Trouble>)>,
}

impl Server {
    /// Serves `file` under any path.
    pub async fn of(file: Vec<u8>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared { file, requests: AtomicUsize::new(0), trouble: Mutex::new((0, None)) });
        let served = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let shared = Arc::clone(&served);
                tokio::spawn(async move { serve(connection, &shared).await });
            }
        });
        Ok(Self { url, shared, task })
    }

    /// Requests for content so far.
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Lets so many requests for content fail in this way.
    pub fn fail(&self, requests: usize, trouble: Trouble) {
        *self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner) = (requests, Some(trouble));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One connection: one request after the other.
async fn serve(mut connection: TcpStream, shared: &Shared) -> Option<()> {
    let mut text = Vec::new();
    loop {
        while !text.windows(4).any(|end| end == b"\r\n\r\n") {
            let mut piece = [0; 4096];
            let read = connection.read(&mut piece).await.ok().filter(|read| *read > 0)?;
            text.extend_from_slice(&piece[..read]);
        }
        let request = String::from_utf8_lossy(&text).to_ascii_lowercase();
        text.clear();
        let head = request.starts_with("head");
        let asked = request.lines().find_map(|line| line.strip_prefix("range: bytes="));
        let size = shared.file.len();
        let (start, end) = match asked.and_then(|range| range.trim().split_once('-')) {
            None => (0, size),
            Some((start, end)) => {
                (start.parse().ok()?, end.parse::<usize>().map_or(size, |end| end + 1).min(size))
            }
        };
        let mut trouble = None;
        if !head {
            shared.requests.fetch_add(1, Ordering::SeqCst);
            let mut planned = shared.trouble.lock().unwrap_or_else(PoisonError::into_inner);
            if planned.0 > 0 {
                planned.0 -= 1;
                trouble = planned.1;
            }
        }
        let body = &shared.file[start..end];
        let refusal = match trouble {
            Some(Trouble::Unavailable) => "503 Service Unavailable",
            Some(Trouble::TooMany) => "429 Too Many Requests",
            Some(Trouble::Closed) => return None,
            _ => "",
        };
        if !refusal.is_empty() {
            connection
                .write_all(format!("HTTP/1.1 {refusal}\r\ncontent-length: 0\r\n\r\n").as_bytes())
                .await
                .ok()?;
            continue;
        }
        let status = if asked.is_some() { "206 Partial Content" } else { "200 OK" };
        let headers = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\ncontent-range: bytes {start}-{}/{size}\r\n\
             etag: \"one\"\r\nlast-modified: Tue, 05 Mar 2024 10:00:00 GMT\r\naccept-ranges: bytes\r\n\r\n",
            body.len(),
            end.saturating_sub(1),
        );
        connection.write_all(headers.as_bytes()).await.ok()?;
        if head {
            continue;
        }
        let broken = trouble == Some(Trouble::Broken);
        connection.write_all(if broken { &body[..body.len() / 2] } else { body }).await.ok()?;
        if broken {
            return None;
        }
    }
}
