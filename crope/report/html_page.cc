#include "crope/report/html_page.h"

#include <fmt/format.h>

#include <algorithm>

namespace crope::report {
namespace {

constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--page:#ffffff;--text:#22262d;--soft:#5d6673;--line:#dde1e7;--band:#f5f6f8;--link:#005a8f}
@media screen and (prefers-color-scheme:dark){:root{--page:#14171c;--text:#e4e7ec;--soft:#9aa3b0;--line:#2f3641;--band:#1c2027;--link:#7cc4ef}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.6 system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,sans-serif}
main,header,footer,nav{max-width:68rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:3rem}
h1{font-size:clamp(1.7rem,5vw,2.4rem);line-height:1.15;letter-spacing:-.02em;margin:0 0 .6rem;font-weight:650;overflow-wrap:anywhere}
h2{font-size:1.35rem;line-height:1.25;letter-spacing:-.01em;margin:0 0 .6rem;font-weight:620}
.lead{font-size:1.1rem;color:var(--soft);max-width:46rem;margin:0}
nav{padding-top:1.2rem;padding-bottom:.4rem;font-size:.92rem}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.15rem 1.1rem;margin:0;padding:0}
a{color:var(--link);text-decoration:none}
a:hover{text-decoration:underline}
section{border-top:1px solid var(--line);padding:1.8rem 0 1rem;margin-top:1.2rem}
p{max-width:46rem;margin:.5rem 0 .9rem}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.88em}
p code,td code,figcaption code{background:var(--band);padding:.08em .3em;border-radius:4px;overflow-wrap:anywhere}
pre{background:var(--band);border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;overflow-x:auto;line-height:1.45;white-space:pre-wrap;overflow-wrap:anywhere}
figure{margin:1.1rem 0 1.5rem}
.row{display:grid;gap:1rem 1.6rem;align-items:start}
.row>div{min-width:0}
.row svg{display:block;width:100%;height:auto;overflow:visible}
.row svg text,.row svg tspan{font-family:inherit}
figcaption,.caption{color:var(--soft);font-size:.9rem;line-height:1.5;max-width:46rem;text-align:left}
figcaption{margin-top:.5rem}
.caption{margin:-.9rem 0 1.5rem}
.wide{overflow-x:auto;margin:1rem 0 1.5rem;background:linear-gradient(to left,var(--page) 40%,transparent) right/40px 100% no-repeat local,linear-gradient(to left,var(--line),transparent) right/16px 100% no-repeat scroll}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:.34rem .9rem .34rem 0;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap}
th{font-weight:600;border-bottom:1.5px solid var(--soft)}
td.n,th.n{text-align:right}
th:last-child,td:last-child{padding-right:0}
details{margin:.6rem 0}
summary{cursor:pointer;color:var(--link)}
footer{margin-top:2.5rem;padding-bottom:2.5rem;color:var(--soft);font-size:.88rem}
footer::before{content:"";display:block;border-top:1px solid var(--line);margin-bottom:1rem}
@media (max-width:40rem){table{font-size:.82rem}th,td{padding-right:.6rem}th:first-child,td:first-child{position:sticky;left:0;z-index:1;background:var(--page)}}
@media print{body{font-size:10.5pt}nav{display:none}header{padding-top:0}section{break-inside:auto}figure,table,pre{break-inside:avoid}
.wide{overflow:visible}th,td{padding-right:.6rem}details>*{display:block}a{color:inherit}}
)css";

bool looks_like_number(std::string_view cell) {
  constexpr std::string_view kOthers = ",.+-−±%×eEMkGns/ ";
  bool has_digit = false;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const auto c = static_cast<unsigned char>(cell[i]);
    if (c >= '0' && c <= '9')
      has_digit = true;
    else if (c < 0x80 && kOthers.find(static_cast<char>(c)) == kOthers.npos)
      return false;
  }
  return has_digit || cell == "–";
}

// Escaped, with `code` as code.
std::string inline_html(std::string_view text) {
  std::string html;
  bool in_code = false;
  for (;;) {
    const std::size_t tick = text.find('`');
    html += escape_html(text.substr(0, tick));
    if (tick == text.npos) break;
    html += in_code ? "</code>" : "<code>";
    in_code = !in_code;
    text.remove_prefix(tick + 1);
  }
  return in_code ? html + "</code>" : html;
}

std::string folded(const std::string& summary, const std::string& html) {
  if (summary.empty()) return html;
  return "<details><summary>" + inline_html(summary) + "</summary>" + html + "</details>\n";
}

std::string block_html(const Prose& prose) {
  std::string html;
  std::string_view rest = prose.text;
  while (!rest.empty()) {
    const std::size_t end = rest.find("\n\n");
    html += "<p>" + inline_html(rest.substr(0, end)) + "</p>\n";
    if (end == rest.npos) break;
    rest.remove_prefix(end + 2);
  }
  return html;
}

std::string block_html(const FigureRow& row) {
  std::string html = fmt::format(
      "<figure><div class=\"row\" style=\"grid-template-columns:repeat(auto-fill,minmax(min(100%,{}px),1fr))\">\n",
      row.narrowest);
  for (const DrawnFigure& figure : row.figures) {
    html += fmt::format("<div style=\"max-width:{}px\">{}</div>\n", figure.width * 5 / 4, figure.svg);
  }
  return html + "</div><figcaption>" + inline_html(row.caption) + "</figcaption></figure>\n";
}

std::string block_html(const Table& table) {
  std::vector<bool> numeric(table.columns.size(), !table.rows.empty());
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < numeric.size() && i < row.size(); ++i) {
      numeric[i] = numeric[i] && (row[i].empty() || looks_like_number(row[i]));
    }
  }
  const auto cell = [&](const char* tag, std::size_t i, const std::string& text) {
    return fmt::format("<{0}{1}>{2}</{0}>", tag, i < numeric.size() && numeric[i] ? " class=\"n\"" : "",
                       inline_html(text));
  };
  std::string html = "<div class=\"wide\"><table>";
  html += "<thead><tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i) html += cell("th", i, table.columns[i]);
  html += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) html += cell("td", i, row[i]);
    html += "</tr>\n";
  }
  html += "</tbody></table></div>\n";
  // Outside of what scrolls sideways, so that it is read in full on a narrow screen.
  if (!table.caption.empty()) html += "<p class=\"caption\">" + inline_html(table.caption) + "</p>\n";
  return folded(table.summary, html);
}

std::string block_html(const Listing& listing) {
  return folded(listing.summary, "<pre>" + escape_html(listing.text) + "</pre>\n");
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string html_page(const Page& page) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n";
  html += "<title>" + escape_html(page.title) + "</title>\n<style>" + palette_css() + std::string(kStyle) +
          "</style></head>\n<body>\n";
  html += "<header><h1>" + escape_html(page.title) + "</h1>\n<p class=\"lead\">" + inline_html(page.lead) +
          "</p></header>\n";
  if (page.sections.size() > 1) {
    html += "<nav aria-label=\"Contents\"><ul>";
    for (const Section& section : page.sections) {
      html += fmt::format("<li><a href=\"#{}\">{}</a></li>", escape_html(section.id), escape_html(section.title));
    }
    html += "</ul></nav>\n";
  }
  html += "<main>\n";
  for (const Section& section : page.sections) {
    html += fmt::format("<section id=\"{}\"><h2>{}</h2>\n", escape_html(section.id), escape_html(section.title));
    for (const Block& block : section.blocks) {
      html += std::visit([](const auto& each) { return block_html(each); }, block);
    }
    html += "</section>\n";
  }
  return html + "</main>\n<footer>" + inline_html(page.footer) + "</footer>\n</body></html>\n";
}

}  // namespace crope::report
