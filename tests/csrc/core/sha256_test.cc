#include "core/sha256.h"

#include "check.h"

// The expected digests are those of FIPS 180-4's examples.
TEST(EmptyText) {
  CHECK_EQ(jaxkern::Sha256(""),
           "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(OneBlock) {
  CHECK_EQ(jaxkern::Sha256("abc"),
           "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(TheLengthGoesIntoASecondBlock) {
  CHECK_EQ(jaxkern::Sha256(
               "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(ManyBlocks) {
  CHECK_EQ(jaxkern::Sha256(std::string(1000000, 'a')),
           "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main() { return jaxkern::testing::RunTests(); }
