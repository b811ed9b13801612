#include "crope/serve/http_session.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include "crope/serve/api_error.h"

namespace crope::serve {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds kLingerTime{2000};
// After a client has finished sending: when it is asked whether it is there, and when it is given up if it cannot be.
constexpr std::chrono::milliseconds kProbeTime{200};
constexpr std::chrono::milliseconds kHalfClosedTime{2000};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::size_t kLargeBody = std::size_t{64} << 10;
constexpr std::size_t kReadAhead = std::size_t{64} << 10;  // bytes of further requests taken during an answer

}  // namespace

void Session::await_request() {
  phase_ = Phase::reading;
  reader_.reset();
  form_ = {};
  deadline_ = Clock::now() + limits_.idle_time;
  is_head_taken_ = is_probed_ = is_stream_ = is_woken_ = is_complete_ = false;
}

void Session::read() {
  if (is_waiting_ || no_more_bytes_ || phase_ == Phase::closed) return;
  if (phase_ == Phase::answering && pending_.size() >= kReadAhead) return;
  is_waiting_ = true;
  socket_.async_wait(tcp::socket::wait_read, guard([this](error_code error) { on_readable(error); }));
}

void Session::on_readable(error_code error) {
  is_waiting_ = false;
  const std::size_t count = error ? 0 : socket_.read_some(asio::buffer(host_.bytes), error);
  if (error == asio::error::would_block) return read();
  if (error == asio::error::eof && (phase_ == Phase::answering || reader_)) {
    no_more_bytes_ = Clock::now();  // the client has finished sending, or has gone
    socket_.async_wait(tcp::socket::wait_error, guard([this](error_code) { close(); }));
    if (phase_ == Phase::reading) refuse({400, "the request was cut off"});
    return;
  }
  if (error) return close();
  if (phase_ != Phase::lingering) {
    pending_.append(host_.bytes.data(), count);
    buffered_ += count;
    host_.buffered += count;
  }
  if (phase_ == Phase::reading) parse();
  read();
}

void Session::parse() {
  if (pending_.empty()) return;
  if (!reader_) {
    reader_.emplace(limits_.message, host_.access);
    deadline_ = Clock::now() + limits_.header_time;
  }
  const bool had_head = is_head_taken_;
  const RequestReader::Progress progress = reader_->take(pending_);
  form_ = reader_->form();
  if (progress == RequestReader::Progress::complete) return dispatch();
  if (progress == RequestReader::Progress::refused) return refuse(reader_->refusal());
  if (host_.buffered > limits_.buffered_bytes) return refuse({503, "too much is being sent at once"});
  if (progress == RequestReader::Progress::in_header || had_head) return;
  is_head_taken_ = true;
  deadline_ = Clock::now() + limits_.body_time;
  if (reader_->expects_continue()) write(kContinue);
}

void Session::dispatch() {
  phase_ = Phase::answering;
  answer_start_ = Clock::now();
  deadline_ = answer_end_ = Clock::time_point::max();
  ++host_.answering;
  if (reader_->is_preflight()) {
    record_ = {.method = "OPTIONS", .path = "*"};
    return send_whole({.status = 204,
                       .headers = {{"Access-Control-Allow-Methods", "GET, POST"},
                                   {"Access-Control-Allow-Headers", "Authorization, Content-Type"}}});
  }
  HttpRequest request = reader_->release();
  record_ = {.method = request.method, .path = request.path};
  reader_.reset();
  request.wake = [postbox = host_.postbox, weak = weak_from_this()] {
    const std::lock_guard lock(postbox->mutex);
    if (postbox->io == nullptr) return;
    asio::post(*postbox->io, [weak] {
      if (const auto self = weak.lock()) self->guard([&] { self->pump(); })();
    });
  };
  asio::thread_pool& workers = request.body.size() > kLargeBody ? host_.large_workers : host_.workers;
  run(
      workers, [&api = host_.api, request = std::move(request)]() mutable { return api.answer(std::move(request)); },
      [this](HttpResponse response) { respond(std::move(response)); });
}

void Session::release_buffered() {
  const std::size_t kept = phase_ == Phase::closed ? 0 : pending_.size();
  host_.buffered -= buffered_ - kept;
  buffered_ = kept;
}

void Session::respond(HttpResponse response) {
  release_buffered();
  if (!response.next) return send_whole(response);
  deadline_ = response.deadline;
  is_stream_ = response.is_stream;
  record_.status = response.status;
  late_ = std::make_shared<Late>(std::move(response.next));
  if (is_stream_) {
    answer_end_ = deadline_ == Clock::time_point::max() ? deadline_ : deadline_ + limits_.answer_time;
    form_.keeps_connection = form_.keeps_connection && form_.has_chunks && !host_.drains;
    write(response_head(response, form_, std::nullopt));
  }
  is_woken_ = true;
  pump();
}

// Gets what has come of a late answer, if nothing is being written: who reads slowly gets larger pieces.
void Session::pump() {
  is_woken_ = true;
  if (!late_ || is_pumping_ || is_writing()) return;
  is_pumping_ = true;
  is_woken_ = false;
  struct Part {
    HttpResponse response;
    bool is_last;
  };
  run(
      host_.workers,
      [late = late_]() mutable {
        Part part;
        part.is_last = (*late)(part.response);
        late.reset();
        return part;
      },
      [this](Part part) { take_part(std::move(part.response), part.is_last); });
}

void Session::take_part(HttpResponse part, bool is_last) {
  is_pumping_ = false;
  if (is_last) late_.reset();
  if (is_stream_) {
    is_complete_ = is_last;
    const std::string text = body_piece(part.body, form_) + (is_last ? body_end(form_) : std::string());
    if (!text.empty()) return write(text);
    if (is_last && !is_writing()) return finish();
  } else if (is_last) {
    return send_whole(part);
  }
  if (is_woken_) pump();
}

void Session::send_whole(const HttpResponse& response) {
  record_.status = response.status;
  answer_end_ = Clock::now() + limits_.answer_time;
  is_complete_ = true;
  form_.keeps_connection = form_.keeps_connection && !host_.drains;
  write(response_head(response, form_, response.body.size()) + (form_.has_body ? response.body : std::string()));
}

void Session::refuse(const Refusal& refusal) {
  ++host_.answering;
  answer_start_ = Clock::now();
  phase_ = Phase::answering;
  form_.keeps_connection = false;
  HttpResponse response{.status = refusal.status,
                        .body = to_text(error_json(ApiError(refusal.status, refusal.message)))};
  if (refusal.status == 503) response.headers.emplace_back("Retry-After", "1");
  send_whole(response);
}

void Session::write(std::string_view bytes) {
  next_out_ += bytes;
  if (is_writing()) return;
  stall_end_ = Clock::now() + limits_.stall_time;
  write_more();
}

void Session::write_more() {
  if (written_ == out_.size()) {
    out_ = std::exchange(next_out_, {});
    written_ = 0;
    if (!is_writing()) {
      if (phase_ != Phase::answering) return;  // "100 Continue" has been written
      if (is_complete_) return finish();
      if (is_woken_) pump();
      return;
    }
  }
  socket_.async_write_some(asio::buffer(out_) + written_, guard([this](error_code error, std::size_t count) {
                             if (error) return close();
                             written_ += count;
                             record_.bytes += count;
                             stall_end_ = Clock::now() + limits_.stall_time;
                             write_more();
                           }));
}

// Tells whoever wants to know that an answer is over.
void Session::report(bool is_broken_off) {
  --host_.answering;
  record_.is_broken_off = is_broken_off;
  record_.seconds = std::chrono::duration<double>(Clock::now() - answer_start_).count();
  if (host_.on_answered) host_.on_answered(record_);
  record_ = {};
}

void Session::finish() {
  report(/*is_broken_off=*/false);
  if (form_.keeps_connection && !(no_more_bytes_ && pending_.empty())) {
    await_request();
    release_buffered();
    parse();
    if (phase_ == Phase::reading && no_more_bytes_) return close();
    return read();
  }
  // What the client still sends is read for a moment: closing at once would destroy the answer on its way.
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  phase_ = Phase::lingering;
  reader_.reset();
  pending_ = {};
  release_buffered();
  deadline_ = Clock::now() + kLingerTime;
  no_more_bytes_ ? close() : read();
}

void Session::expire(Clock::time_point now) {
  if (phase_ == Phase::answering) {
    if (is_writing()) {
      if (now >= stall_end_ || now >= answer_end_) close();
      return;
    }
    if (now >= deadline_) pump();
    if (!no_more_bytes_ || is_stream_ || is_probed_) return;
    // Whoever has gone answers anything that is written with a reset.
    const auto silence = now - *no_more_bytes_;
    if (form_.has_chunks && silence >= kProbeTime) {
      is_probed_ = true;
      write(kContinue);
    } else if (silence >= kHalfClosedTime) {
      close();  // HTTP/1.0 has no answer before the answer
    }
  } else if (now >= deadline_) {
    // Half a request gets an answer; silence gets none.
    reader_ ? refuse({408, "the request took too long"}) : close();
  }
}

void Session::close() {
  if (phase_ == Phase::closed) return;
  if (phase_ == Phase::answering) report(/*is_broken_off=*/true);
  phase_ = Phase::closed;
  release_buffered();
  late_.reset();
  error_code ignored;
  socket_.close(ignored);
  host_.sessions.erase(shared_from_this());
  host_.open = host_.sessions.size();
}

}  // namespace crope::serve
