//! Assembly text, the analysis of loops, and the page.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::support::Hps;

/// Three multiplications behind each other, of three cycles each on hps-4wide.
const LOOP: &str = "
_start: li t0, 400
loop:   mul t1, t1, t2
        mul t1, t1, t2
        mul t1, t1, t2
        addi t0, t0, -1
        bnez t0, loop
        li a0, 7
        li a7, 93
        ecall
";

fn write(hps: &Hps, name: &str, text: &str) -> String {
    let file = hps.path(name);
    std::fs::write(&file, text).expect("the file can be written");
    file
}

#[test]
fn assembly_text_runs_and_its_loop_is_analyzed() {
    let hps = Hps::new();
    let file = write(&hps, "loop.s", LOOP);
    hps.run(&["run", "--asm", &file]).expect_code(7);
    let text = hps.run(&["analyze", &file]).expect_code(0);
    assert!(text.contains("9.00 cycles"), "{text}");
    assert!(text.contains("limited by chain of results"), "{text}");
    let text = hps.run(&["analyze", "--json", &file]).expect_code(0);
    let analysis: Value = serde_json::from_str(&text).expect("JSON");
    let on_chain = analysis["lines"].as_array().expect("lines").iter();
    let on_chain = on_chain.filter(|line| line["on_chain"] == true && line["chain"] == 3.0);
    let on_chain = on_chain.count();
    assert_eq!(on_chain, 3);

    let wrong = write(&hps, "wrong.s", "nop\n mull t1, t1, t2\n");
    let run = hps.run(&["run", "--asm", &wrong]);
    assert!(run.stderr.contains("wrong.s:2:2"), "{}", run.stderr);
    run.expect_code(2);
    let run = hps.run(&[
        "analyze",
        &write(&hps, "straight.s", "nop\nli a7, 93\necall\n"),
    ]);
    assert!(run.stderr.contains("no loop"), "{}", run.stderr);
    run.expect_code(2);
}

/// JSON data that the page begins with.
fn start(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"start\">").expect("its place");
    let (text, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn the_page_has_the_program_inside() {
    let hps = Hps::new();
    let text = format!("{LOOP}# </script>\n");
    let file = write(&hps, "loop.s", &text);
    let page = |words: &[&str]| {
        let order = [&["teach", "--no-open", "--out", "page.html"], words].concat();
        hps.run(&order).expect_code(0);
        std::fs::read_to_string(hps.path("page.html")).expect("the page")
    };
    let whole = page(&[]);
    assert_eq!(start(&whole), Value::Null);
    let setup = start(&page(&[&file]));
    assert_eq!(setup["program"]["text"], text.as_str());
    let setup = start(&page(&["--machine", "ev6", "--isa", "alpha", "bwt"]));
    assert_eq!(setup["machine"], "ev6");
    assert_eq!(setup["program"]["isa"], "alpha");
    let program = hps.program("prog", &super::support::exit_with(0));
    let setup = start(&page(&[&program, "-v"]));
    assert_eq!(setup["arguments"][0], "-v");
    let run = hps.run(&["teach", "--no-open", &write(&hps, "bad", "no program")]);
    assert!(run.stderr.contains("bad"), "{}", run.stderr);
    run.expect_code(2);
}

/// A server that is ended with the test.
struct Server {
    process: Child,
    host: String,
    /// The path and the secret of the printed address.
    path: String,
}

impl Server {
    fn start(words: &[&str]) -> Server {
        let mut process = Command::new(env!("CARGO_BIN_EXE_hps"))
            .args([&["teach", "--serve", "0"], words].concat())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut said = String::new();
        let mut stdout = BufReader::new(process.stdout.take().expect("a pipe"));
        stdout.read_line(&mut said).expect("its address");
        let address = said.trim().trim_start_matches("http://");
        let (host, path) = address.split_once('/').expect("a path");
        Server {
            process,
            host: host.to_owned(),
            path: format!("/{path}"),
        }
    }

    /// The answer to a question with these headers.
    fn ask(&self, line: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        let length = body.len();
        write!(
            stream,
            "{line} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        )
        .expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_served_page_asks_the_command_and_nobody_else_does() {
    let hps = Hps::new();
    let program = hps.program("prog", &super::support::exit_with(7));
    let server = Server::start(&[&program]);
    let host = format!("Host: {}\r\n", server.host);
    let page = server.ask(&format!("GET {}", server.path), &host, "");
    assert!(page.starts_with("HTTP/1.1 200"), "{page:.100}");
    let setup = start(&page);
    assert_eq!(setup["program"]["kind"], "served");
    let (_, rest) = page.split_once("id=\"server\">\"").expect("its place");
    let (token, _) = rest.split_once('"').expect("its end");

    let asked = serde_json::json!({"ask": "run", "setup": setup}).to_string();
    let ask = |headers: &str| server.ask("POST /ask", headers, &asked);
    let own = format!("{host}X-HPS-Token: {token}\r\nX-HPS-Session: one\r\n");
    let answer = ask(&own);
    assert!(answer.contains("\"said\":\"exit code 7\""), "{answer:.300}");
    // Another session has no run.
    let rows = r#"{"ask":"rows","first":0,"count":1,"only_committed":false}"#;
    let row = |headers: &str| server.ask("POST /ask", headers, rows);
    assert!(row(&own).contains("\"pc\""));
    let other = own.replace("Session: one", "Session: two");
    assert!(row(&other).contains("nothing has run"));
    // Without the token, with a wrong one, and under another name.
    let elsewhere = format!("Host: elsewhere.example\r\nX-HPS-Token: {token}\r\n");
    let wrong = format!("{host}X-HPS-Token: {token}0\r\n");
    for headers in [&host, &wrong, &elsewhere] {
        assert!(ask(headers).starts_with("HTTP/1.1 403"), "{headers}");
    }
    // The page holds the secret, so that only who has the printed address gets it.
    let whole = format!("GET {}", server.path);
    for (line, headers) in [
        ("GET /", host.as_str()),
        ("GET /index.html", &host),
        ("GET /?token=", &host),
        (&whole[..whole.len() - 1], &host),
        (&whole, ""),
    ] {
        let said = server.ask(line, headers, "");
        assert!(said.starts_with("HTTP/1.1 403"), "{line}: {said}");
        assert!(!said.contains(token), "{line}");
    }
    assert!(
        server
            .ask("GET /other", &host, "")
            .starts_with("HTTP/1.1 404")
    );
}

#[test]
fn a_refused_question_that_still_sends_gets_its_answer() {
    let server = Server::start(&[]);
    let mut stream = TcpStream::connect(&server.host).expect("it listens");
    let (host, body) = (&server.host, vec![b' '; 1 << 16]);
    let length = body.len();
    write!(
        stream,
        "POST /ask HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n"
    )
    .expect("it reads");
    // The refusal is there before the body is.
    stream.peek(&mut [0]).expect("it answers");
    stream.write_all(&body).expect("it reads on");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("no reset");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[test]
fn a_server_refuses_bodies_before_they_come_and_too_many_connections() {
    let server = Server::start(&[]);
    let (_, token) = server.path.split_once("token=").expect("a secret");
    // Nothing of these bodies is sent, and nobody waits for them.
    let answer = |head: &str| {
        let mut stream = TcpStream::connect(&server.host).expect("it listens");
        let host = &server.host;
        // A head that is too long is not read to its end.
        let _ = write!(stream, "POST /ask HTTP/1.1\r\nHost: {host}\r\n{head}\r\n");
        let mut answer = String::new();
        // A connection whose head is not read to its end may be reset.
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    let own = format!("X-HPS-Token: {token}\r\n");
    for (head, status) in [
        ("Content-Length: 1000000\r\n".to_string(), "403"),
        (format!("{own}Content-Length: 99999999999999\r\n"), "413"),
        (format!("{own}Content-Length: -1\r\n"), "411"),
        (own.clone(), "411"),
    ] {
        let said = answer(&head);
        assert!(
            said.starts_with(&format!("HTTP/1.1 {status}")),
            "{head}: {said}"
        );
    }
    assert_eq!(answer(&"X: y\r\n".repeat(10_000)), "");
    // Connections that say nothing: the ones beyond the limit are closed at once.
    let open = (0..40).map(|_| TcpStream::connect(&server.host).expect("it listens"));
    let open: Vec<TcpStream> = open.collect();
    let mut last = open.last().expect("connections");
    assert_eq!(last.read(&mut [0; 1]).expect("closed"), 0);
}
