package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// maxTorn is more than the length of any line.
const maxTorn = 2 << 20

// FileSink appends to a file and creates it when it is missing, so the file may
// be moved away at any time. Another program rotates it.
type FileSink struct{ Path string }

// Send implements Sink.
func (s *FileSink) Send(_ context.Context, lines []byte) (err error) {
	f, err := os.OpenFile(s.Path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the file of the audit export: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	whole, err := dropTorn(f)
	if err != nil {
		return err
	}
	if _, err := f.Write(lines); err != nil {
		// On a full disk a part of the lines was written; a reader of the file
		// must not find half a line.
		return fmt.Errorf("write the audit export: %w", errors.Join(err, f.Truncate(whole)))
	}
	return f.Sync()
}

// dropTorn removes a line that a crash cut in two, which is sent again
// completely, and returns where the complete lines end.
func dropTorn(f *os.File) (whole int64, err error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	from := max(0, info.Size()-maxTorn)
	tail := make([]byte, info.Size()-from)
	if _, err := f.ReadAt(tail, from); err != nil {
		return 0, fmt.Errorf("read the end of the audit export: %w", err)
	}
	whole = from + int64(bytes.LastIndexByte(tail, '\n')) + 1
	if whole == info.Size() {
		return whole, nil
	}
	return whole, f.Truncate(whole)
}

// HTTPSink posts lines to a URL as application/x-ndjson.
type HTTPSink struct {
	URL string
	// TokenFile holds a bearer token; empty sends none.
	TokenFile string
	// Client must have a timeout and follow no redirects.
	Client *http.Client
}

// maxToken limits a token file, in bytes.
const maxToken = 16 << 10

// Send implements Sink.
func (s *HTTPSink) Send(ctx context.Context, lines []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(lines))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	if s.TokenFile != "" {
		token, err := os.ReadFile(s.TokenFile)
		if err != nil {
			return fmt.Errorf("read the token of the audit export: %w", err)
		}
		if len(token) > maxToken {
			return errcode.New(errcode.Invalid, "the token file of the audit export has more than %d bytes", maxToken)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	answer, err := s.Client.Do(request)
	if err != nil {
		return err
	}
	// The body is ignored; reading it allows the connection to be reused.
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10)
	if err := answer.Body.Close(); err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the sink of the audit export answered %s", answer.Status)
	}
	return nil
}
