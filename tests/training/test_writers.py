"""An endpoint that drops, cuts or spoils its answers, or is not there."""

import http.server
import threading

import pytest

from jaxkern.training import writers
from jaxkern.training.scoring import Item

ITEM = Item("relu", 1, 1, "write relu", "relu")


class Flaky(http.server.BaseHTTPRequestHandler):
  """Answers with the next of `answers`; an empty one hangs up."""

  answers: list = []

  def do_POST(self):
    self.rfile.read(int(self.headers["Content-Length"]))
    self.wfile.write(Flaky.answers.pop(0))
    self.close_connection = True

  def log_message(self, *args):
    pass


def answer(body, length=None):
  head = f"HTTP/1.0 200 OK\r\nContent-Length: {length or len(body)}\r\n\r\n"
  return (head + body).encode()


RIGHT = answer('{"choices": [{"message": {"content": "right"}}]}')
FAULTS = {
  "hangs up": (b"", "RemoteDisconnected"),
  "cut off": (answer("{}", 90), "IncompleteRead"),
  "not HTTP": (b"hello\r\n", "BadStatusLine"),
  "not JSON": (answer("<html>"), "JSONDecodeError"),
  "no choices": (answer('{"error": "busy"}'), "expected choices .* 'busy'"),
  "null": (answer('{"choices": null}'), "expected choices"),
  "a list": (answer("[]"), "expected choices"),
  "parts": (
    answer('{"choices": [{"message": {"content": [1]}}]}'),
    "expected choices",
  ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_spoilt_answer_is_asked_for_again_and_then_said(fault):
  spoilt, message = FAULTS[fault]
  made = http.server.HTTPServer(("127.0.0.1", 0), Flaky)
  thread = threading.Thread(target=made.serve_forever)
  thread.start()
  url = f"http://127.0.0.1:{made.server_port}/v1"
  try:
    write = writers.endpoint(url, "m", extract=str, wait_s=0)
    Flaky.answers = [spoilt, RIGHT]
    assert write(ITEM, [0]) == ["right"]
    Flaky.answers = [spoilt] * 4
    with pytest.raises(OSError, match=f"^endpoint: .*{message}"):
      write(ITEM, [0])
    assert not Flaky.answers
  finally:
    made.shutdown()
    thread.join()
    made.server_close()


def test_an_endpoint_is_a_url():
  with pytest.raises(ValueError, match="--endpoint: expected http"):
    writers.endpoint("localhost:8000/v1", "m", extract=str)


def test_absent_server_is_said():
  write = writers.endpoint("http://127.0.0.1:9/v1", "m", extract=str, wait_s=0)
  with pytest.raises(OSError, match="endpoint: "):
    write(ITEM, [0])
