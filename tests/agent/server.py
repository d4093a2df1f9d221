"""A small OpenAI-compatible server that does what a test tells it to."""

import contextlib
import http.server
import json
import threading
import time

KERNEL = "STRATEGY: wider\n```cuda\nint launch() { return 0; }\n```"


class Server(http.server.ThreadingHTTPServer):
  """Answers with the next of `script`; the last one again and again."""

  daemon_threads = True

  def __init__(self, script):
    super().__init__(("127.0.0.1", 0), Handler)
    self.script, self.requests, self.keys = list(script), [], []
    self.lock = threading.Lock()

  @property
  def url(self):
    return f"http://127.0.0.1:{self.server_address[1]}/v1"

  def handle_error(self, *arguments):  # Clients that gave up.
    pass


class Handler(http.server.BaseHTTPRequestHandler):
  def log_message(self, *arguments):
    pass

  def do_POST(self):
    body = json.loads(self.rfile.read(int(self.headers["content-length"])))
    with self.server.lock:
      self.server.requests.append(body)
      self.server.keys.append(self.headers["authorization"])
      script = self.server.script
      step = script.pop(0) if len(script) > 1 else script[0]
    step(self)

  def begin(self, status=200, kind="text/event-stream", headers=()):
    self.send_response(status)
    self.send_header("content-type", kind)
    self.send_header("connection", "close")
    for name, value in headers:
      self.send_header(name, value)
    self.end_headers()

  def chunk(self, text="", reason=None, usage=None):
    data = {
      "id": "1",
      "object": "chat.completion.chunk",
      "created": 1,
      "model": "m",
      "choices": [
        {"index": 0, "delta": {"content": text}, "finish_reason": reason}
      ],
    }
    if usage:
      data["usage"] = usage
    self.raw(f"data: {json.dumps(data)}\n\n")

  def raw(self, text):
    self.wfile.write(text.encode())
    self.wfile.flush()


def says(text, reason="stop", usage=None):
  def step(handler):
    handler.begin()
    for k in range(0, len(text), 20):
      handler.chunk(text[k : k + 20])
    handler.chunk("", reason, usage)
    handler.raw("data: [DONE]\n\n")

  return step


def fails(status, message="broken", headers=()):
  def step(handler):
    handler.begin(status, "application/json", headers)
    handler.raw(json.dumps({"error": {"message": message}}))

  return step


def repeats_the_key(handler):
  key = handler.headers["authorization"].removeprefix("Bearer ")
  says(f"STRATEGY: {key}\n```\nint launch() {{ /* {key} */ }}\n```")(handler)


def refuses_with_the_key(handler):
  key = handler.headers["authorization"].removeprefix("Bearer ")
  fails(401, f"wrong key {key}")(handler)


def breaks_off(handler):
  handler.begin()
  handler.chunk("STRATEGY: half")
  handler.connection.shutdown(2)


def stops_without_a_reason(handler):
  handler.begin()
  handler.chunk("STRATEGY: half")


def says_nothing(handler):
  handler.begin()
  handler.chunk("STRATEGY")
  time.sleep(1.5)


def sends_no_json(handler):
  handler.begin()
  handler.raw("data: {no json\n\n")


@contextlib.contextmanager
def serving(*script):
  server = Server(script)
  thread = threading.Thread(target=server.serve_forever, args=(0.02,))
  thread.start()
  try:
    yield server
  finally:
    server.shutdown()
    server.server_close()
    thread.join()
