//! `hps teach --serve`: the page over the loopback, and the simulator beside it in this process. Programs and runs may be
//! larger than a page holds.
//!
//! Every user of this host and every page in the browser can reach the loopback. Requests without the secret are
//! refused: it stands in the printed address, which gives the page, and the page shows it in a header that no other
//! page may send. A question names this server by its loopback address. Bodies are read after the head has been
//! accepted.

use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use hps_lab::Program;
use hps_teach::Session;
use hps_teach::protocol::Limits;

use crate::text::print;

/// Time that a browser may take for the head of its request, and longest silence while it sends.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a question's head.
const MOST_HEAD_BYTES: usize = 16 << 10;
/// Bytes of a question's body: a program as hexadecimal digits, and the rest.
const MOST_BYTES: u64 = 2 * Limits::SERVED.file_bytes + (1 << 20);
/// Bytes that are read behind an answer, so that a client that still sends gets it whole.
const MOST_UNREAD_BYTES: u64 = 1 << 20;
/// Questions that are answered at once.
const MOST_CONNECTIONS: usize = 16;
/// Sessions that are kept, the one that was asked last first. Each tab of a browser has one.
const MOST_SESSIONS: usize = 3;

/// State of the server.
struct Server {
    port: u16,
    page: String,
    token: String,
    program: Option<Program>,
    sessions: Mutex<Vec<(String, Arc<Mutex<Session>>)>>,
}

/// Serves the page on the loopback until interrupted. `page` makes it of the token.
pub fn serve(
    port: u16,
    program: Option<Program>,
    page: impl FnOnce(&str) -> anyhow::Result<String>,
) -> anyhow::Result<u8> {
    let token = token();
    let page = page(&token)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .with_context(|| format!("--serve {port}: this port cannot be used"))?;
    let address = listener.local_addr()?;
    print(&format!("http://{address}/?token={token}\n"))?;
    let server = Arc::new(Server {
        port: address.port(),
        page,
        token,
        program,
        sessions: Mutex::default(),
    });
    // Each thread that answers a request holds a copy, so that the count of copies is the count of connections.
    let open = Arc::new(());
    for stream in listener.incoming() {
        // A browser that disconnects does not end the server.
        let Ok(stream) = stream else { continue };
        // The connection is closed without an answer when too many are open.
        if Arc::strong_count(&open) > MOST_CONNECTIONS {
            continue;
        }
        let (server, held) = (Arc::clone(&server), Arc::clone(&open));
        std::thread::spawn(move || {
            server.answer(stream);
            drop(held);
        });
    }
    Ok(0)
}

/// A random word of 128 bits: hashes under the random keys of hash maps.
fn token() -> String {
    let word = || RandomState::new().hash_one("token");
    format!("{:016x}{:016x}", word(), word())
}

/// The head of a question.
#[derive(Default)]
struct Head {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
}

impl Head {
    fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        all.find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Reads up to the empty line, which must come in time and before [`MOST_HEAD_BYTES`].
    fn read(reader: &mut impl BufRead) -> Option<Head> {
        let end = Instant::now() + PATIENCE;
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\n") && !text.ends_with(b"\n\n") {
            let mut byte = [0];
            if text.len() >= MOST_HEAD_BYTES || Instant::now() > end {
                return None;
            }
            reader.read_exact(&mut byte).ok()?;
            text.push(byte[0]);
        }
        let text = String::from_utf8(text).ok()?;
        let (first, rest) = text.split_once('\n')?;
        let mut words = first.split(' ').map(str::to_owned);
        let headers = rest.lines().filter_map(|line| line.split_once(':'));
        Some(Head {
            method: words.next()?,
            path: words.next()?.trim().to_owned(),
            headers: headers
                .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                .collect(),
        })
    }
}

/// An answer: status, kind of content, content.
type Answer = (&'static str, &'static str, String);

fn refusal(status: &'static str, said: impl Into<String>) -> Answer {
    (status, "text/plain", said.into())
}

impl Server {
    /// Answers one question: the page for `/` with the secret, and what the page asks.
    fn answer(&self, stream: TcpStream) {
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let _ = stream.set_write_timeout(Some(PATIENCE));
        let mut reader = BufReader::new(&stream);
        let Some(head) = Head::read(&mut reader) else {
            return;
        };
        let (status, kind, body) = self.decide(&head, &mut reader);
        let _ = write!(
            &stream,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        // A connection that is closed with unread bytes is reset, and the client may lose the answer.
        if stream.shutdown(Shutdown::Write).is_ok() {
            let _ = std::io::copy(&mut reader.take(MOST_UNREAD_BYTES), &mut std::io::sink());
        }
    }

    fn decide(&self, head: &Head, body: &mut impl Read) -> Answer {
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        if !head
            .header("host")
            .is_some_and(|host| hosts.iter().any(|own| own == host))
        {
            let said = format!("This server is http://{}/ and nothing else.\n", hosts[0]);
            return refusal("403 Forbidden", said);
        }
        let (path, query) = head.path.split_once('?').unwrap_or((&head.path, ""));
        match (head.method.as_str(), path) {
            ("GET", "/" | "/index.html") => {
                let shown = query
                    .split('&')
                    .find_map(|pair| pair.strip_prefix("token="));
                match shown.is_some_and(|shown| self.is_secret(shown)) {
                    true => ("200 OK", "text/html", self.page.clone()),
                    false => refusal(
                        "403 Forbidden",
                        "Open the whole address that hps teach --serve has printed, with its token.\n",
                    ),
                }
            }
            ("POST", "/ask") => {
                let shown = head.header("x-hps-token");
                match shown.is_some_and(|shown| self.is_secret(shown)) {
                    true => self.asked(head, body),
                    false => refusal(
                        "403 Forbidden",
                        "Only the page that this server serves may ask; load it again.\n",
                    ),
                }
            }
            _ => refusal("404 Not Found", "There is only the page at /.\n"),
        }
    }

    /// Whether a text is the secret, in a time that does not tell how much of it is right.
    fn is_secret(&self, shown: &str) -> bool {
        let (shown, own) = (shown.as_bytes(), self.token.as_bytes());
        let differences = shown.iter().zip(own).fold(0, |all, (a, b)| all | (a ^ b));
        shown.len() == own.len() && differences == 0
    }

    /// Reads the body of a question whose head is accepted, and answers it.
    fn asked(&self, head: &Head, body: &mut impl Read) -> Answer {
        let length = head.header("content-length").map(str::parse);
        let Some(Ok(length)) = length else {
            return refusal("411 Length Required", "A question says how long it is.\n");
        };
        if length > MOST_BYTES {
            let said = format!("A question has at most {MOST_BYTES} bytes.\n");
            return refusal("413 Content Too Large", said);
        }
        let mut text = Vec::new();
        let read = body.take(length).read_to_end(&mut text);
        if read.is_err() || text.len() as u64 != length {
            return refusal("400 Bad Request", "The question is not whole.\n");
        }
        let session = head.header("x-hps-session").unwrap_or_default();
        let answer = self.ask(session, &String::from_utf8_lossy(&text));
        ("200 OK", "application/json", answer)
    }

    fn ask(&self, session: &str, text: &str) -> String {
        let session = self.session(session);
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        session.answer_text(text)
    }

    /// The session of a page, which becomes the first one.
    fn session(&self, id: &str) -> Arc<Mutex<Session>> {
        let mut all = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|(known, _)| known == id);
        let session = match known {
            Some(at) => all.remove(at).1,
            None => Arc::new(Mutex::new(Session::serving(
                self.program.clone(),
                hps_teach::c::compile,
            ))),
        };
        all.insert(0, (id.to_owned(), Arc::clone(&session)));
        all.truncate(MOST_SESSIONS);
        session
    }
}
