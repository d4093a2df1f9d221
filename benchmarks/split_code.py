"""The machine code of a candidate's library, and how two of them differ.

Equal code gives equal bits. Code that differs is disassembled, if there is a
disassembler (nvdisasm on PATH: CUDA's, or `pip install nvidia-cuda-nvdisasm`
and its bin directory).
"""

import collections
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

MAGIC = b"\x7fELF"
CUDA_MACHINE = 190
# Floating-point arithmetic, whose choice and order decide about bits.
FLOATING = re.compile(
  r"(FADD|FMUL|FFMA|FSEL|FSET|FMNMX|MUFU|H[A-Z]*2|D[A-Z]+|F2|I2F|RED|ATOM|HMMA)"
)


def sections(elf: bytes) -> dict[str, bytes]:
  """Name -> bytes of an ELF file's sections."""
  (start,) = struct.unpack_from("<Q", elf, 40)
  size, count, names = struct.unpack_from("<HHH", elf, 58)
  heads = [
    struct.unpack_from("<IIQQQQ", elf, start + i * size) for i in range(count)
  ]
  table = elf[heads[names][4] :][: heads[names][5]]
  found = {}
  for name, kind, _, _, offset, length in heads:
    text = table[name : table.index(b"\0", name)].decode()
    found[text] = b"" if kind == 8 else elf[offset : offset + length]
  return found


def cubins(library: pathlib.Path) -> list[bytes]:
  """The device's ELF files in a library."""
  fatbin = sections(library.read_bytes())[".nv_fatbin"]
  starts = [m.start() for m in re.finditer(re.escape(MAGIC), fatbin)]
  return [
    fatbin[at:end] for at, end in zip(starts, [*starts[1:], None], strict=True)
  ]


def machine_code(library: pathlib.Path) -> tuple[list[bytes], bytes]:
  """Kernels' instructions and constants.

  Kernels go without names: a namespace without one gives them different ones.
  """
  kernels, constants = [], b""
  for cubin in cubins(library):
    for name, text in sections(cubin).items():
      if name.startswith(".text."):
        kernels.append(text)
      elif name == ".nv.constant3":
        constants = text
  return sorted(kernels), constants


def instructions(library: pathlib.Path, nvdisasm: str) -> list[str]:
  """Opcodes with their modifiers, in order."""
  found = []
  with tempfile.TemporaryDirectory() as directory:
    path = pathlib.Path(directory) / "cubin"
    for cubin in cubins(library):
      path.write_bytes(cubin)
      text = subprocess.run(
        [nvdisasm, "-c", path], check=True, capture_output=True, text=True
      ).stdout
      pattern = r"\*/\s+(?:@!?U?P\w+ )?([A-Z][\w.]*)([^\n]*);"
      for opcode, operands in re.findall(pattern, text):
        # A constant plus zero times zero: how the arithmetic unit copies.
        copies = opcode.startswith("HFMA2") and "-RZ, RZ," in operands
        found.append("MOV" if copies else opcode)
  return found


def difference(a: pathlib.Path, b: pathlib.Path) -> str:
  """In words, what is another in libraries whose code differs."""
  nvdisasm = shutil.which("nvdisasm")
  if nvdisasm is None:
    return "not looked into: no nvdisasm"
  codes = [instructions(library, nvdisasm) for library in (a, b)]
  if codes[0] == codes[1]:
    return "registers"
  counts = [collections.Counter(code) for code in codes]
  if counts[0] == counts[1]:
    return "registers and the order of instructions"
  floating = [
    {op: n for op, n in count.items() if FLOATING.match(op)} for count in counts
  ]
  other = sorted((counts[0] - counts[1]) + (counts[1] - counts[0]))
  if floating[0] == floating[1]:
    return "registers, and instructions without arithmetic of floats: " + (
      " ".join(other)
    )
  return "instructions: " + " ".join(other)
