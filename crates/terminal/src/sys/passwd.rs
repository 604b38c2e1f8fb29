//! The account database.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr;

/// What the account database says about a user, as far as an environment needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) home: String,
    pub(crate) shell: String,
}

/// Largest record we read. glibc suggests 1 KiB; directory services with long gecos fields need more.
const RECORD_LIMIT_BYTES: usize = 64 * 1024;

/// The account of user `uid`; `None` when there is none, or when its record is not UTF-8.
pub(crate) fn account(uid: u32) -> Option<Account> {
    let mut room = vec![0; 1024];
    loop {
        let mut record = MaybeUninit::<libc::passwd>::uninit();
        let mut found = ptr::null_mut();
        // SAFETY: all pointers are valid for the call, and `room.len()` is the length of `room`.
        let errno = unsafe {
            libc::getpwuid_r(uid, record.as_mut_ptr(), room.as_mut_ptr(), room.len(), &raw mut found)
        };
        if errno == libc::ERANGE && room.len() < RECORD_LIMIT_BYTES {
            room.resize(room.len() * 4, 0);
            continue;
        }
        if errno != 0 || found.is_null() {
            return None;
        }
        // SAFETY: the call succeeded and `found` is not null, so `record` was filled in.
        let record = unsafe { record.assume_init() };
        return Some(Account {
            name: text(record.pw_name)?,
            home: text(record.pw_dir)?,
            shell: text(record.pw_shell)?,
        });
    }
}

fn text(field: *const libc::c_char) -> Option<String> {
    if field.is_null() {
        return None;
    }
    // SAFETY: a field of a record that getpwuid_r filled in is a C string inside the caller's buffer, which lives.
    unsafe { CStr::from_ptr(field) }.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_account_is_found_and_a_missing_one_is_none() {
        assert_eq!(account(0).expect("every system has uid 0").name, "root");
        assert_eq!(account(3_999_999_999), None);
    }
}
