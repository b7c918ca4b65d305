// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "report/json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace millrace::report {
namespace {

TEST(JsonObject, keeps_the_order_of_the_calls) {
  JsonObject inner;
  inner.put("bytes", 7U);
  JsonObject object;
  object.put("b", "text").put("a", -3).put("yes", true).put("time", 1.5).put("args", inner);
  EXPECT_EQ(object.text(), R"({"b":"text","a":-3,"yes":true,"time":1.500,"args":{"bytes":7}})");
  EXPECT_EQ(JsonObject().text(), "{}");
}

TEST(JsonObject, writes_lists_and_numbers_that_do_not_exist) {
  JsonObject object;
  object.put("none", std::vector<std::string>{}).put("two", std::vector<std::string>{"x", "y\"z"});
  object.put("rate", std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(object.text(), R"({"none":[],"two":["x","y\"z"],"rate":null})");
}

// An independent parser of JSON checks the text.
TEST(JsonObject, any_text_comes_back) {
  for (unsigned c = 1; c < 0x80; ++c) {
    const std::string text = std::string("a") + static_cast<char>(c) + "b";
    EXPECT_EQ(nlohmann::json::parse(JsonObject().put("t", text).text())["t"], text) << c;
  }
  for (const std::string text : {"gr\u00fc\u00df", "\u20ac", "\U0001f600"})
    EXPECT_EQ(nlohmann::json::parse(JsonObject().put("t", text).text())["t"], text);
}

// A file name may have any bytes. nlohmann's parser refuses bytes that are not UTF-8.
TEST(JsonObject, bytes_that_are_no_utf8_are_replaced) {
  for (unsigned first = 0x80; first < 0x100; ++first) {
    for (unsigned second = 0; second < 0x100; ++second) {
      const std::string text = {static_cast<char>(first), static_cast<char>(second), 'x'};
      const auto document = nlohmann::json::parse(JsonObject().put("t", text).text(), nullptr, false);
      ASSERT_FALSE(document.is_discarded()) << first << " " << second;
      ASSERT_TRUE(document["t"].get<std::string>().ends_with("x")) << first << " " << second;
    }
  }
  for (const char* text :
       {"\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x80\x80\x80", "\xe2\x82"})
    EXPECT_FALSE(nlohmann::json::parse(JsonObject().put("t", text).text(), nullptr, false).is_discarded());
  EXPECT_EQ(JsonObject().put("t", "\xff").text(), "{\"t\":\"\\ufffd\"}");
}

}  // namespace
}  // namespace millrace::report
