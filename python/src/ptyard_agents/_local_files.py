"""Files of a workspace on this machine."""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import tarfile
from collections.abc import Set
from pathlib import Path

from agents.sandbox.util.tar_utils import (
    safe_extract_tarfile,
    should_skip_tar_member,
    strip_tar_member_prefix,
    validate_tarfile,
)

# The name under which a workspace is packed; it is stripped again, with what the SDK refuses to unpack.
_PACKED = "workspace"


def open_regular(path: Path, flags: int) -> int:
    """Opens a file that is one: no device, no pipe that would block, no link in its last part."""
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
    except BaseException:
        os.close(handle)
        raise
    return handle


def read(path: Path) -> io.BufferedReader:
    return os.fdopen(open_regular(path, os.O_RDONLY), "rb")


def read_bounded(path: Path, most: int) -> bytes:
    with read(path) as file:
        return file.read(most)


def write(path: Path, data: io.IOBase, *, new: bool = False) -> None:
    """Writes a file, and its directories where they are missing. ``new`` refuses one that exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Cut only once it is known to be a regular file.
    handle = open_regular(path, os.O_WRONLY | os.O_CREAT | (os.O_EXCL if new else 0))
    with os.fdopen(handle, "wb") as file:
        file.truncate(0)
        shutil.copyfileobj(data, file)


def pack(root: Path, skip: Set[Path]) -> io.IOBase:
    """The workspace as a tar stream that can be unpacked anywhere."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:

        def add(path: Path, name: str) -> None:
            if should_skip_tar_member(name, skip_rel_paths=skip, root_name=_PACKED):
                return
            try:
                member = tar.gettarinfo(path, arcname=name)
            except FileNotFoundError:
                # Programs may go on while it is packed.
                return
            if member is None:
                return  # type: ignore[unreachable]  # a socket
            if member.islnk():
                # Every name of a file is packed with its bytes.
                member.type, member.linkname, member.size = tarfile.REGTYPE, "", path.stat().st_size
            if member.isreg():
                with read(path) as file:
                    member.size = os.fstat(file.fileno()).st_size
                    tar.addfile(member, file)
                return
            tar.addfile(member)
            if member.isdir():
                for child in sorted(os.listdir(path)):
                    add(path / child, f"{name}/{child}")

        add(root, _PACKED)
    packed.seek(0)
    return strip_tar_member_prefix(packed, prefix=_PACKED, relativize_symlinks_under=root)


def check_packed(data: io.IOBase) -> None:
    """Refuses a tar stream that would write beside its root."""
    with tarfile.open(fileobj=data, mode="r:*") as tar:
        validate_tarfile(tar, allow_external_symlink_targets=False)
    data.seek(0)


def unpack(root: Path, data: io.IOBase) -> None:
    root.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=data, mode="r:*") as tar:
        safe_extract_tarfile(tar, root=root, allow_external_symlink_targets=False)
