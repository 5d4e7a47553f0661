package agentapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// retryHeader tells a client when to retry, in whole seconds.
const retryHeader = "Retry-After"

// problem is the body of a plain HTTP error, the same shape that Connect uses.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// refuse answers a plain HTTP request with an error.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	code := errcode.Of(err)
	s.logFault(r.Context(), r.URL.Path, err)
	if after := retryAfter(err); after != "" {
		w.Header().Set(retryHeader, after)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(errcode.HTTPStatus(code))
	body, merr := json.Marshal(problem{string(code), errcode.Message(err)})
	if merr == nil {
		// A client that went away does not need its error.
		_, _ = w.Write(body)
	}
}

// rpcError converts any error into a Connect error.
func (s *Server) rpcError(ctx context.Context, method string, err error) error {
	var done *connect.Error
	if errors.As(err, &done) {
		return err
	}
	s.logFault(ctx, method, err)
	out := connect.NewError(connect.Code(errcode.RPCCode(errcode.Of(err))), errors.New(errcode.Message(err)))
	if after := retryAfter(err); after != "" {
		out.Meta().Set(retryHeader, after)
	}
	return out
}

// retryAfter returns the header for an error. Exhausted and Unavailable always
// have one, so that no client has to guess.
func retryAfter(err error) string {
	d := errcode.RetryAfter(err)
	if code := errcode.Of(err); d == 0 && (code == errcode.Unavailable || code == errcode.Exhausted) {
		d = time.Second
	}
	if d <= 0 {
		return ""
	}
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}

// logFault logs an internal error once. It ignores callers that went away.
func (s *Server) logFault(ctx context.Context, what string, err error) {
	if errcode.Of(err) != errcode.Internal || ctx.Err() != nil {
		return
	}
	s.log.LogAttrs(ctx, slog.LevelError, "a request of an agent failed with an internal error", slog.String(logkey.Path, what), slog.Any(logkey.Error, err))
}
