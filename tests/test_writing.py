"""Files that are written whole or not at all, through links, into pipes and devices, by several threads."""

import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from podium import PodiumError
from podium.model_file import check_writable, write_bytes, write_text

pytestmark = pytest.mark.plain
OLD, NEW = b"the old content", b"the new content, which is longer"
FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(OLD)
    return path


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def fail_with(error):
    """Return a function that raises an error whatever it is given."""

    def fail(*_, **__):
        raise error

    return fail


def read_in_thread(path):
    """Return a thread that reads a pipe to its end, and the list that gets what it read."""
    read = []
    thread = threading.Thread(target=lambda: read.append(path.read_bytes()))
    thread.start()
    return thread, read


def test_a_pipe_is_written_into_and_stays_one(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread, read = read_in_thread(path)
    write_bytes(path, NEW)
    thread.join()
    assert read == [NEW]
    assert path.is_fifo()
    assert names_in(tmp_path) == ["pipe"]


def test_a_link_to_a_pipe_writes_into_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    thread, read = read_in_thread(tmp_path / "pipe")
    write_text(tmp_path / "link", "text")
    thread.join()
    assert read == [b"text"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there are no such devices here")
def test_devices_are_written_into(tmp_path, monkeypatch):
    """By links, and with no way to rename: run by root, a wrong writer would replace the machine's own device."""
    monkeypatch.setattr("pathlib.Path.replace", fail_with(AssertionError("a device must not be replaced")))
    for name in ("null", "full"):
        (tmp_path / name).symlink_to(f"/dev/{name}")
    write_bytes(tmp_path / "null", NEW)
    with pytest.raises(OSError, match=r"No space left on device: .*full"):
        write_bytes(tmp_path / "full", NEW)
    assert all(path.is_symlink() and path.is_char_device() for path in tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="descriptors have no names here")
def test_an_open_descriptor_is_written_on_where_it_stands(old, tmp_path):
    with old.open("ab") as file:
        write_bytes(f"/dev/fd/{file.fileno()}", b", and more")
        (tmp_path / "link").symlink_to(f"/dev/fd/{file.fileno()}")
        write_bytes(tmp_path / "link", b" by a link")
        file.write(b" at last")
    assert old.read_bytes() == OLD + b", and more by a link at last"


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="there is no such device here")
def test_standard_output_is_written_to(tmp_path, capfdbinary):
    (tmp_path / "link").symlink_to("/dev/stdout")
    write_bytes(tmp_path / "link", NEW)
    assert capfdbinary.readouterr().out == NEW


@pytest.mark.parametrize("chain", [1, 2, 5])
@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("absolute", [True, False])
def test_links_stay_and_what_they_lead_to_is_written(tmp_path, chain, exists, absolute):
    folder, target = tmp_path / "links", tmp_path / "files" / "target"
    folder.mkdir()
    target.parent.mkdir()
    if exists:
        target.write_bytes(OLD)
    last = target if absolute else "../files/target"
    for number in range(chain):
        (folder / f"link{number}").symlink_to(last)
        last = f"link{number}"
    write_bytes(folder / last, NEW)
    assert all(link.is_symlink() for link in folder.iterdir())
    assert len(names_in(folder)) == chain
    assert target.read_bytes() == (folder / last).read_bytes() == NEW
    assert names_in(target.parent) == ["target"]


def test_links_that_lead_nowhere_are_refused_and_stay(tmp_path):
    (tmp_path / "nowhere").symlink_to("no/such/file")
    (tmp_path / "folder").symlink_to(".")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(PodiumError, match=r"The folder of .*nowhere does not exist"):
        check_writable(tmp_path / "nowhere")
    with pytest.raises(PodiumError, match="folder is a folder; name a file"):
        write_bytes(tmp_path / "folder", NEW)
    with pytest.raises(OSError, match="circle") as caught:
        write_bytes(tmp_path / "circle", NEW)
    assert caught.value.errno == errno.ELOOP
    assert all(link.is_symlink() for link in tmp_path.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o444])
def test_an_old_file_keeps_its_mode(old, mode):
    old.chmod(mode)
    write_bytes(old, NEW)
    assert old.stat().st_mode & 0o7777 == mode
    assert old.read_bytes() == NEW


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_of_the_umask(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_bytes(tmp_path / "file", NEW)
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o7777 == mode


def test_the_part_of_a_private_file_is_private_while_it_is_written(old, monkeypatch):
    modes, sync = [], os.fsync
    monkeypatch.setattr("os.fsync", lambda number: (modes.append(os.fstat(number).st_mode & 0o777), sync(number)))
    old.chmod(0o600)
    write_bytes(old, NEW)
    assert modes == [0o600]


def test_threads_that_write_the_same_file_leave_one_of_the_contents(tmp_path):
    path, contents = tmp_path / "file", [bytes([letter]) * 5000 for letter in b"abcdefgh"]
    path.write_bytes(contents[0])

    def write_and_read(number):
        write_bytes(path, contents[number % len(contents)])
        return path.read_bytes()

    with ThreadPoolExecutor(8) as pool:
        assert {*pool.map(write_and_read, range(100))} <= {*contents}
    assert names_in(tmp_path) == ["file"]


@pytest.mark.parametrize("length", [200, 250, 255])
def test_long_names_are_written_to(tmp_path, length):
    name = "n" * length
    write_bytes(tmp_path / name, NEW)
    assert names_in(tmp_path) == [name]


def test_a_name_too_long_for_any_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(OSError, match=r"File name too long: .*nnn") as caught:
        write_bytes(tmp_path / ("n" * 256), NEW)
    assert caught.value.errno == errno.ENAMETOOLONG


@pytest.mark.parametrize("place", ["os.fsync", "pathlib.Path.replace", "pathlib.Path.chmod"])
@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt(), MemoryError()])
def test_a_failure_leaves_the_old_file_and_no_part(old, tmp_path, monkeypatch, place, error):
    old.chmod(0o677)
    monkeypatch.setattr(place, fail_with(error))
    with pytest.raises(type(error)):
        write_bytes(old, NEW)
    monkeypatch.undo()
    assert old.read_bytes() == OLD
    assert names_in(tmp_path) == ["file"]


def test_the_error_of_a_full_disk_names_the_file(old, monkeypatch):
    monkeypatch.setattr("os.fsync", fail_with(FULL))
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_bytes(old, NEW)
    assert caught.value.filename == str(old)
