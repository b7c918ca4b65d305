// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/storage_host.hpp"

#include <gtest/gtest.h>

namespace millrace::client {
namespace {

TEST(StorageHost, GlusterNamesTheHostOfAFile) {
  EXPECT_EQ(gluster_host("<POSIX(/local/peer/brick):node0:/local/peer/brick/f1>"), "node0");
  EXPECT_EQ(gluster_host("(<DISTRIBUTE:v-dht> <POSIX(/b1):store.site.org:/b1/f>)"), "store.site.org");
}

TEST(StorageHost, AFileOfSeveralHostsHasNone) {
  EXPECT_EQ(gluster_host("(<REPLICATE:v-0> <POSIX(/b1):node0:/b1/f> <POSIX(/b2):node1:/b2/f>)"), "");
  EXPECT_EQ(gluster_host("(<STRIPE:v-0> <POSIX(/b1):node0:/b1/f> <POSIX(/b2):node0:/b2/f>)"), "node0");
}

TEST(StorageHost, MalformedAttributesNameNone) {
  for (const char* text : {"", "<POSIX(", "<POSIX(/b):", "<POSIX(/b):node0", "something else"})
    EXPECT_EQ(gluster_host(text), "") << text;
}

TEST(StorageHost, MountsOfOneServerNameIt) {
  EXPECT_EQ(mounted_host("nfs4 filer.site.org:/export/home"), "filer.site.org");
  EXPECT_EQ(mounted_host("nfs node0:/x"), "node0");
  EXPECT_EQ(mounted_host("fuse.sshfs me@node3:/data"), "node3");
  EXPECT_EQ(mounted_host("lustre 10.0.0.1@tcp:/scratch"), "");  // the address of the management server
  EXPECT_EQ(mounted_host("ext4 /dev/sda1"), "");
  EXPECT_EQ(mounted_host(""), "");
}

TEST(StorageHost, DomainsDoNotCount) {
  EXPECT_EQ(host_number("node0.cluster.site.org"), host_number("node0"));
  EXPECT_NE(host_number("node0"), host_number("node1"));
  EXPECT_EQ(host_number(""), 0u);
  EXPECT_NE(own_host_number(), 0u);
}

}  // namespace
}  // namespace millrace::client
