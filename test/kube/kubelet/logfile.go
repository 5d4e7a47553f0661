package kubelet

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// maxLine is where a longer line is cut into pieces that are joined again when
// read.
const maxLine = 16 << 10

// logFile holds the output of one run of a container. A line is the time, the stream,
// F for a full line or P for a part, and the text.
type logFile struct {
	path string

	mu      sync.Mutex
	file    *os.File
	changed chan struct{} // closed and replaced at each write
	ended   bool
}

func newLogFile(path string) (*logFile, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &logFile{path: path, file: file, changed: make(chan struct{})}, nil
}

// copy takes one stream of the container until its end.
func (l *logFile) copy(stream string, from io.Reader) {
	lines := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			full := bytes.HasSuffix(line, []byte("\n"))
			l.write(stream, bytes.TrimSuffix(line, []byte("\n")), full || err == io.EOF)
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

func (l *logFile) write(stream string, text []byte, full bool) {
	tag := "P"
	if full {
		tag = "F"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.file, "%s %s %s %s\n", time.Now().UTC().Format(time.RFC3339Nano), stream, tag, text)
	l.wake()
}

// end says that nothing more will come.
func (l *logFile) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.file.Close()
	l.wake()
}

func (l *logFile) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *logFile) state() (changed <-chan struct{}, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed, l.ended
}

// record is one line of the log, or a piece of one.
type record struct {
	at     time.Time
	stamp  string
	stream string
	full   bool
	text   string
}

// read gives emit the records from offset on. With follow it waits for more
// until the container's run ends or the context does.
func (l *logFile) read(ctx context.Context, offset int64, follow bool, emit func(record) error) error {
	file, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReader(file)
	for {
		changed, ended := l.state()
		for {
			line, err := lines.ReadString('\n')
			if err != nil { // writes are of whole lines, so nothing is lost
				break
			}
			if err := emit(parseRecord(line)); err != nil {
				return err
			}
		}
		if ended || !follow {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// size is the present end of the log.
func (l *logFile) size() int64 {
	info, err := os.Stat(l.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// tailOffset finds where the last n lines begin.
func (l *logFile) tailOffset(n int64) (int64, error) {
	content, err := os.ReadFile(l.path)
	if err != nil {
		return 0, err
	}
	end := len(content)
	for end > 0 {
		begin := bytes.LastIndexByte(content[:end-1], '\n') + 1
		if parseRecord(string(content[begin:end])).full {
			if n == 0 {
				return int64(end), nil
			}
			n--
		}
		end = begin
	}
	return 0, nil
}

func parseRecord(line string) record {
	parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
	if len(parts) < 4 {
		return record{text: line, full: true}
	}
	at, _ := time.Parse(time.RFC3339Nano, parts[0])
	return record{at: at, stamp: parts[0], stream: parts[1], full: parts[2] == "F", text: parts[3]}
}
