//! `hps teach --serve`: the page over the loopback, and the simulator beside it in this process. Programs and runs may be
//! larger than a page holds.
//!
//! Other pages in the same browser can reach the loopback, too. They are refused: a question names this server by its
//! loopback address and shows a token that only the served page has, in a header that no other page may send.

use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use hps_lab::Program;
use hps_teach::Session;
use hps_teach::protocol::Limits;

use crate::text::print;

/// How long a browser may take for its question.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest line of a question's head, and the most lines.
const LONGEST: u64 = 8 << 10;
const MOST_LINES: usize = 100;
/// Bytes of a question: a program as hexadecimal digits, and the rest.
const MOST_BYTES: u64 = 2 * Limits::SERVED.file_bytes + (1 << 20);
/// Sessions that are kept, the one that was asked last first. Each tab of a browser has one.
const MOST_SESSIONS: usize = 3;

/// What the server holds.
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
    print(&format!("http://{address}/\n"))?;
    let server = Arc::new(Server {
        port: address.port(),
        page,
        token,
        program,
        sessions: Mutex::default(),
    });
    for stream in listener.incoming() {
        // A browser that goes away is no reason to end.
        let Ok(stream) = stream else { continue };
        let server = Arc::clone(&server);
        std::thread::spawn(move || server.answer(stream));
    }
    Ok(0)
}

/// A word that nobody guesses: keys of hash maps are random.
fn token() -> String {
    let word = || RandomState::new().hash_one("token");
    format!("{:016x}{:016x}", word(), word())
}

/// The head of a question, and its body.
#[derive(Default)]
struct Question {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Question {
    fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        all.find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    fn read(stream: &TcpStream) -> std::io::Result<Question> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        let mut question = Question::default();
        reader.by_ref().take(LONGEST).read_line(&mut line)?;
        let mut words = line.split(' ').map(str::to_owned);
        question.method = words.next().unwrap_or_default();
        question.path = words.next().unwrap_or_default();
        for _ in 0..MOST_LINES {
            line.clear();
            reader.by_ref().take(LONGEST).read_line(&mut line)?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            let header = (name.trim().to_owned(), value.trim().to_owned());
            question.headers.push(header);
        }
        let length = question.header("content-length");
        let length = length.and_then(|text| text.parse().ok()).unwrap_or(0);
        if length <= MOST_BYTES {
            reader.take(length).read_to_end(&mut question.body)?;
        }
        Ok(question)
    }
}

impl Server {
    /// Answers one question: the page for `/`, and what the page asks.
    fn answer(&self, mut stream: TcpStream) {
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let _ = stream.set_write_timeout(Some(PATIENCE));
        let Ok(question) = Question::read(&stream) else {
            return;
        };
        let (status, kind, body) = self.decide(&question);
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
    }

    fn decide(&self, question: &Question) -> (&'static str, &'static str, String) {
        let plain = "text/plain";
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        if !question
            .header("host")
            .is_some_and(|host| hosts.iter().any(|own| own == host))
        {
            let said = format!("This server is http://{}/ and nothing else.\n", hosts[0]);
            return ("403 Forbidden", plain, said);
        }
        match (question.method.as_str(), question.path.as_str()) {
            ("GET", "/" | "/index.html") => ("200 OK", "text/html", self.page.clone()),
            ("POST", "/ask") if question.header("x-hps-token") == Some(&self.token) => {
                ("200 OK", "application/json", self.ask(question))
            }
            ("POST", "/ask") => {
                let said = "Only the page that this server serves may ask; load it again.\n";
                ("403 Forbidden", plain, said.to_owned())
            }
            _ => {
                let said = "There is only the page at /.\n";
                ("404 Not Found", plain, said.to_owned())
            }
        }
    }

    fn ask(&self, question: &Question) -> String {
        let session = self.session(question.header("x-hps-session").unwrap_or_default());
        let text = String::from_utf8_lossy(&question.body);
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        session.answer_text(&text)
    }

    /// The session of a page, which becomes the first one.
    fn session(&self, id: &str) -> Arc<Mutex<Session>> {
        let mut all = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|(known, _)| known == id);
        let session = match known {
            Some(at) => all.remove(at).1,
            None => Arc::new(Mutex::new(Session::serving(self.program.clone()))),
        };
        all.insert(0, (id.to_owned(), Arc::clone(&session)));
        all.truncate(MOST_SESSIONS);
        session
    }
}
