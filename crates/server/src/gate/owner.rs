//! Whose the other end of a loopback connection is, as the kernel knows it: for listeners whose clients know no token.
//!
//! Read from `/proc/net/tcp`, where the other end stands as well, since it is on this machine. Only an established
//! connection has an owner there: one that its maker has closed is listed as root's.

use std::fs;
use std::net::{IpAddr, SocketAddr};

use rustix::fs::Uid;

/// An established connection, in the words of the kernel.
const ESTABLISHED: &str = "01";

/// Whether the user at `peer`, connected to us at `own`, is this process's own or root.
pub(crate) fn may_enter(peer: SocketAddr, own: SocketAddr) -> bool {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let user = tables.iter().find_map(|table| owner(&fs::read_to_string(table).ok()?, peer, own));
    user.is_some_and(|user| user == rustix::process::geteuid() || user.is_root())
}

/// The owner of the socket at `near` that is connected to `far`.
fn owner(table: &str, near: SocketAddr, far: SocketAddr) -> Option<Uid> {
    let (near, far) = (spellings(near), spellings(far));
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (local, remote, state) = (words.next()?, words.next()?, words.next()?);
        let is_it = near.iter().any(|near| near == local) && far.iter().any(|far| far == remote);
        let user = words.nth(3)?;
        (is_it && state == ESTABLISHED).then(|| user.parse().ok()).flatten().map(Uid::from_raw)
    })
}

/// How the kernel writes an address: words of 32 bits in the order of this machine. One of version 4 may belong to a
/// socket of version 6.
fn spellings(address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let word = |bytes: &[u8]| {
        let bytes = bytes.try_into().expect("invariant: four bytes are cut off at a time");
        format!("{:08X}", u32::from_ne_bytes(bytes))
    };
    let words = |bytes: &[u8]| bytes.chunks(4).map(word).collect::<String>();
    match address.ip() {
        IpAddr::V4(ip) => {
            let mapped = words(&ip.to_ipv6_mapped().octets());
            vec![format!("{}:{port:04X}", words(&ip.octets())), format!("{mapped}:{port:04X}")]
        }
        IpAddr::V6(ip) => vec![format!("{}:{port:04X}", words(&ip.octets()))],
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_own_user_enters_on_either_loopback_and_nobody_who_has_left() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            // A machine without version 6 has nothing to show of it.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (near, peer) = listener.accept().unwrap();
            let own = near.local_addr().unwrap();
            assert!(may_enter(peer, own), "{address}");
            drop(far);
            assert!(!may_enter(peer, own), "{address}: the kernel knows no owner any more");
        }
    }

    #[test]
    fn another_user_s_line_says_so() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             \x20  0: 0100007F:1F40 0100007F:26A1 01 00000000:00000000 00:00000000 00000000  1007        0 99 1\n";
        let table = if cfg!(target_endian = "big") {
            table.replace("0100007F", "7F000001")
        } else {
            table.to_owned()
        };
        let (near, far) = ("127.0.0.1:8000".parse().unwrap(), "127.0.0.1:9889".parse().unwrap());
        assert_eq!(owner(&table, near, far), Some(Uid::from_raw(1007)));
        assert_eq!(owner(&table, far, near), None);
        assert_eq!(owner(&table.replace(" 01 ", " 05 "), near, far), None, "it was closed");
    }
}
