// What the articles print: every claim that a number or a rule can decide, and its figures. The one
// place where a published figure is written down.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrygate {

struct Article {
  std::string_view experiment;  // the name `retrygate reproduce` knows it by
  std::string_view title;       // in English; the first five are in Chinese
  std::string_view source;      // as far as it is known
};

struct PublishedClaim {
  std::string_view row;      // "2.11": the article's number, then the claim's
  std::string_view claim;    // what is claimed, in a few words
  std::string_view pattern;  // the published text with a {} for every figure
  std::vector<double> figures;
};

std::span<const Article> articles();
std::span<const PublishedClaim> published_claims();  // in the order of their rows

// The claim of that row; a row that does not exist is a mistake of ours.
const PublishedClaim& published(std::string_view row);
const Article& article_of(const PublishedClaim&);
// The pattern with its figures put in.
std::string published_text(const PublishedClaim&);

}  // namespace retrygate
