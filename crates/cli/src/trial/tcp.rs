//! TCP at its best: one long-lived connection, no delay, messages framed by their length, and everything that is
//! ready written with one system call.

use super::{Job, Message, Meter, Mode, Spec, announce};
use anyhow::{Context, Result, bail};
use socket2::SockRef;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Instant;

/// Bytes of a frame's length.
pub(super) const LENGTH: usize = 4;
/// Bytes read at a time.
const READ: usize = 64 << 10;
/// The congestion control that every kernel may use, named so that a system's default does not decide a comparison.
const CONGESTION: &[u8] = b"cubic";

/// Sets what every TCP connection of a trial has.
pub fn tune(stream: &impl std::os::fd::AsFd) -> Result<()> {
    let socket = SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_congestion(CONGESTION).context("this kernel lacks the congestion control 'cubic'")
}

/// A connection that waits in the way that the trial asks for.
struct Stream<'a> {
    inner: &'a TcpStream,
    spin: bool,
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.inner.read(buffer) {
                Err(error) if self.spin && error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
                other => return other,
            }
        }
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.inner.write(bytes) {
                Err(error) if self.spin && error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Length-framed messages both ways over one connection.
struct Frames<'a> {
    reader: BufReader<Stream<'a>>,
    writer: Stream<'a>,
    ready: Vec<u8>,
    message: Vec<u8>,
}

impl<'a> Frames<'a> {
    fn new(spec: &Spec, inner: &'a TcpStream) -> Result<Frames<'a>> {
        tune(inner)?;
        let spin = spec.mode == Mode::Spin;
        inner.set_nonblocking(spin)?;
        Ok(Frames {
            reader: BufReader::with_capacity(READ, Stream { inner, spin }),
            writer: Stream { inner, spin },
            ready: Vec::new(),
            message: Vec::new(),
        })
    }

    /// The next message, or `None` when the connection has ended.
    fn next(&mut self) -> Result<Option<&[u8]>> {
        if self.reader.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut length = [0; LENGTH];
        self.reader.read_exact(&mut length)?;
        self.message.resize(u32::from_le_bytes(length) as usize, 0);
        self.reader.read_exact(&mut self.message)?;
        Ok(Some(&self.message))
    }

    /// Whether another whole message has been read already.
    fn has_next(&self) -> bool {
        let read = self.reader.buffer();
        read.first_chunk().is_some_and(|&length| read.len() >= LENGTH + u32::from_le_bytes(length) as usize)
    }

    fn queue(&mut self, message: &[u8]) {
        push_frame(&mut self.ready, message);
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.write_all(&self.ready)?;
        self.ready.clear();
        Ok(())
    }
}

/// Appends a message with its length.
pub(super) fn push_frame(to: &mut Vec<u8>, message: &[u8]) {
    to.extend_from_slice(&(message.len() as u32).to_le_bytes());
    to.extend_from_slice(message);
}

/// Answers one connection until it ends, then the next.
pub(super) fn serve(spec: &Spec, at: SocketAddr) -> Result<()> {
    let listener =
        TcpListener::bind(at).with_context(|| format!("TCP cannot listen on {at}: choose a free address"))?;
    announce(listener.local_addr()?)?;
    loop {
        let (connection, _) = listener.accept()?;
        // A client that has measured enough just leaves, with requests outstanding.
        let _ = serve_one(spec, &connection);
    }
}

fn serve_one(spec: &Spec, connection: &TcpStream) -> Result<()> {
    let mut frames = Frames::new(spec, connection)?;
    let mut answer = Vec::new();
    while let Some(request) = frames.next()? {
        Message::check_request(spec, request)?;
        answer.clear();
        answer.extend_from_slice(spec.answer(request));
        frames.queue(&answer);
        if !frames.has_next() {
            frames.flush()?;
        }
    }
    Ok(())
}

/// Sends requests while `meter` runs.
pub(super) fn drive(spec: &Spec, server: SocketAddr, meter: &Meter) -> Result<()> {
    let connection = TcpStream::connect(server).with_context(|| format!("TCP cannot connect to {server}"))?;
    let mut frames = Frames::new(spec, &connection)?;
    let mut message = Message::new(spec);
    let mut asked = 0;
    let mut answered = 0;
    while meter.running() {
        let sent = Instant::now();
        while asked - answered < spec.outstanding as u64 {
            asked += 1;
            frames.queue(message.stamped(asked));
            if spec.job == Job::Bulk {
                frames.flush()?;
            }
        }
        frames.flush()?;
        let mut ended = 0;
        loop {
            answered += 1;
            message.stamped(answered);
            let Some(answer) = frames.next()? else {
                bail!("the server closed the connection with {} requests outstanding", asked - answered + 1);
            };
            message.check(spec, answer)?;
            ended += 1;
            if !frames.has_next() {
                break;
            }
        }
        match spec.job {
            Job::Rtt => meter.round_trip(sent),
            Job::Rate | Job::Bulk => meter.count(ended),
        }
    }
    Ok(())
}
