//! Services of the host that remember what they were told.

use std::{
    io::{ErrorKind, Read},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr as UnixAddr, UnixDatagram, UnixListener},
    },
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Who heard something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ear {
    /// TCP on 127.0.0.1.
    Tcp4,
    /// TCP on `::1`.
    Tcp6,
    /// UDP on 127.0.0.1.
    Udp,
    /// A Unix stream socket like a container runtime's.
    Stream,
    /// A Unix stream socket in a directory that the sandbox may read.
    Mounted,
    /// A Unix datagram socket like the journal's, in the same directory.
    Datagram,
    /// A Unix stream socket with an abstract name.
    Abstract,
    /// The host called in at a port the attacker listens on.
    CalledIn,
}

/// Every word, and who heard it.
type Heard = Mutex<Vec<(Ear, Vec<u8>)>>;

/// The services. They end when this is dropped.
#[derive(Debug)]
pub struct Ears {
    heard: Arc<Heard>,
    stop: Arc<AtomicBool>,
    parameters: Vec<String>,
    listen: u16,
}

impl Ears {
    /// Opens every service; `mounted` is a directory the sandbox may read, `hidden` one it may not.
    pub fn open(hidden: &Path, mounted: &Path, unique: &str) -> Self {
        let tcp4 = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let tcp6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).ok();
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let listen =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let paths =
            [hidden.join("docker.sock"), mounted.join("agent.sock"), mounted.join("log.sock")];
        let abstract_name = UnixAddr::from_abstract_name(unique).unwrap();
        let parameters = vec![
            format!("tcp4={}", tcp4.local_addr().unwrap().port()),
            format!(
                "tcp6={}",
                tcp6.as_ref().map_or(0, |socket| socket.local_addr().unwrap().port())
            ),
            format!("udp={}", udp.local_addr().unwrap().port()),
            format!("listen={listen}"),
            format!("unix-stream={}", paths[0].display()),
            format!("unix-mounted={}", paths[1].display()),
            format!("unix-datagram={}", paths[2].display()),
            format!("unix-abstract={unique}"),
        ];
        let sockets = Sockets {
            tcp: [Some((Ear::Tcp4, tcp4)), tcp6.map(|socket| (Ear::Tcp6, socket))]
                .into_iter()
                .flatten()
                .collect(),
            udp,
            streams: vec![
                (Ear::Stream, UnixListener::bind(&paths[0]).unwrap()),
                (Ear::Mounted, UnixListener::bind(&paths[1]).unwrap()),
                (Ear::Abstract, UnixListener::bind_addr(&abstract_name).unwrap()),
            ],
            datagram: UnixDatagram::bind(&paths[2]).unwrap(),
        };
        let (heard, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (words, end) = (Arc::clone(&heard), Arc::clone(&stop));
        thread::spawn(move || sockets.serve(&words, &end));
        Self { heard, stop, parameters, listen }
    }

    /// The parameters that tell an attack where the services are.
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// Lets the host try, for as long as the services live, to call in at the port that an attack was told to listen on.
    pub fn call_in(&self) {
        let (heard, stop, port) = (Arc::clone(&self.heard), Arc::clone(&self.stop), self.listen);
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                if let Ok(mut stream) = TcpStream::connect_timeout(
                    &SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
                    Duration::from_millis(200),
                ) {
                    let mut text = Vec::new();
                    let _ = stream.set_read_timeout(Some(Duration::from_millis(500)));
                    let _ = stream.read_to_end(&mut text);
                    heard.lock().unwrap().push((Ear::CalledIn, text));
                }
                thread::sleep(Duration::from_millis(30));
            }
        });
    }

    /// Whether this ear heard the secret, waiting up to `patience` for it.
    pub fn heard(&self, ear: Ear, secret: &str, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        loop {
            let heard = self.heard.lock().unwrap();
            if heard.iter().any(|(who, text)| {
                *who == ear && text.windows(secret.len()).any(|part| part == secret.as_bytes())
            }) {
                return true;
            }
            drop(heard);
            if Instant::now() > deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Ears {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

struct Sockets {
    tcp: Vec<(Ear, TcpListener)>,
    udp: UdpSocket,
    streams: Vec<(Ear, UnixListener)>,
    datagram: UnixDatagram,
}

impl Sockets {
    /// One thread asks everybody in turn, so that nothing here can wait for a silent caller.
    fn serve(self, heard: &Heard, stop: &AtomicBool) {
        self.tcp.iter().for_each(|(_, socket)| socket.set_nonblocking(true).unwrap());
        self.streams.iter().for_each(|(_, socket)| socket.set_nonblocking(true).unwrap());
        self.udp.set_nonblocking(true).unwrap();
        self.datagram.set_nonblocking(true).unwrap();
        let mut callers: Vec<(Ear, Box<dyn Read + Send>)> = Vec::new();
        let mut buffer = [0; 4096];
        while !stop.load(Ordering::Relaxed) {
            for (ear, socket) in &self.tcp {
                if let Ok((stream, _)) = socket.accept() {
                    stream.set_nonblocking(true).unwrap();
                    callers.push((*ear, Box::new(stream)));
                }
            }
            for (ear, socket) in &self.streams {
                if let Ok((stream, _)) = socket.accept() {
                    stream.set_nonblocking(true).unwrap();
                    callers.push((*ear, Box::new(stream)));
                }
            }
            if let Ok(got) = self.udp.recv(&mut buffer) {
                heard.lock().unwrap().push((Ear::Udp, buffer[..got].to_vec()));
            }
            if let Ok(got) = self.datagram.recv(&mut buffer) {
                heard.lock().unwrap().push((Ear::Datagram, buffer[..got].to_vec()));
            }
            callers.retain_mut(|(ear, stream)| match stream.read(&mut buffer) {
                Ok(0) => false,
                Ok(got) => {
                    heard.lock().unwrap().push((*ear, buffer[..got].to_vec()));
                    true
                }
                Err(error) => error.kind() == ErrorKind::WouldBlock,
            });
            thread::sleep(Duration::from_millis(5));
        }
    }
}
