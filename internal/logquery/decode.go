package logquery

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/podlogs"
	"github.com/axle-cd/axle/internal/telemetry"
)

const (
	// maxElement bounds a line of VictoriaLogs, and a stream of Loki, in bytes.
	maxElement = 4 << 20
	// maxHeld bounds what an answer becomes, in bytes.
	maxHeld = 32 << 20
)

// Result is an answer, in the order of times.
type Result struct {
	Lines []podlogs.Line
	// Hidden are lines of namespaces, or clusters, that the person does not see: the store
	// did not do what it was asked. Left did not fit, and Long are lines of more than 4 MiB.
	Hidden, Left, Long int64
}

// Found is a line of a store.
type Found struct {
	podlogs.Line
	// Cluster is the value of the store's label of clusters; empty in a store of one.
	Cluster string
}

// Decode reads an answer. Errors are Unavailable for what is none.
func (s Store) Decode(from io.Reader) (Result, error) {
	var r Result
	held := 0
	each := func(f Found) error {
		l := f.Line
		if !s.Sees(f) {
			r.Hidden++
			return nil
		}
		if held += len(l.Text) + 128; held > maxHeld || len(r.Lines) >= 2*MaxLimit {
			r.Left++
			return nil
		}
		r.Lines = append(r.Lines, l)
		return nil
	}
	var err error
	if s.Type == telemetry.Loki {
		err = s.streams(from, each)
	} else {
		err = s.lines(from, each, func() { r.Long++ })
	}
	slices.SortStableFunc(r.Lines, func(a, b podlogs.Line) int { return a.Time.Compare(b.Time) })
	return r, err
}

func (s Store) broken(err error) error {
	if code := errcode.Of(err); code != errcode.Internal {
		return err
	}
	return errcode.New(errcode.Unavailable, "the answer of %s cannot be read: %w", s.Type.Title(), err)
}

// lines reads an answer of VictoriaLogs, one object a line. A line that is longer than maxElement
// is left out, as nobody knows whose it is before all of it was read.
func (s Store) lines(from io.Reader, each func(Found) error, long func()) error {
	reader := bufio.NewReaderSize(from, 64<<10)
	for {
		text, over, err := readLine(reader)
		if over {
			long()
		}
		if len(text) > 0 {
			l, err := s.line(text)
			if err != nil {
				return s.broken(err)
			}
			if err := each(l); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return s.broken(err)
		}
	}
}

// readLine reads to the end of a line; one that is over maxElement is empty.
func readLine(from *bufio.Reader) (line []byte, over bool, err error) {
	for {
		part, more, err := from.ReadLine()
		if err != nil {
			return line, over, err
		}
		if over = over || len(line)+len(part) > maxElement; over {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !more {
			return line, over, nil
		}
	}
}

// line reads one object. A field whose value is no text is none.
func (s Store) line(text []byte) (Found, error) {
	var fields map[string]any
	if err := bounded.JSON(text, &fields, 8*maxElement); err != nil {
		return Found{}, err
	}
	get := func(name string) string {
		value, _ := fields[name].(string)
		return value
	}
	at, err := time.Parse(time.RFC3339Nano, get("_time"))
	if err != nil {
		if get("_time") != "" {
			return Found{}, errors.New("a time is none")
		}
		at = time.Time{}
	}
	return s.made(at, get, get("_msg")), nil
}

func (s Store) made(at time.Time, label func(string) string, text string) Found {
	pod, container := s.names()
	f := Found{Line: podlogs.Line{Time: at.UTC(), Source: podlogs.Source{Namespace: short(label(s.Label)), Pod: short(label(pod)), Container: short(label(container))}}}
	if s.Cluster != "" {
		f.Cluster = label(s.Cluster)
	}
	f.Text, f.Cut = podlogs.Shown(text)
	return f
}

// short is the name of an object, which is never longer.
func short(name string) string {
	name = podlogs.Clean(name)
	return name[:min(len(name), 253)]
}

// streams reads an answer of Loki: {"status", "data": {"resultType": "streams", "result":
// [{"stream": labels, "values": [["nanoseconds", "line"]]}]}}.
func (s Store) streams(from io.Reader, each func(Found) error) error {
	d := json.NewDecoder(from)
	known := false
	var walk func(path string) error
	walk = func(path string) error {
		if path == "/data/result" {
			return s.result(d, each)
		}
		if path == "" || path == "/data" {
			if token, err := d.Token(); err != nil || token != json.Delim('{') {
				return errors.Join(err, errors.New("it is no object"))
			}
			for d.More() {
				key, err := d.Token()
				if err != nil {
					return err
				}
				name, _ := key.(string)
				if err := walk(path + "/" + name); err != nil {
					return err
				}
			}
			_, err := d.Token()
			return err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		if path == "/data/resultType" {
			if known = string(raw) == `"streams"`; !known {
				return errors.New("it has no lines but other results")
			}
		}
		return nil
	}
	if err := walk(""); err != nil {
		return s.broken(err)
	}
	return nil
}

// stream is a stream of Loki.
type stream struct {
	Stream map[string]string
	Values [][]json.RawMessage
}

// result reads the streams of an answer, one by one.
func (s Store) result(d *json.Decoder, each func(Found) error) error {
	if token, err := d.Token(); err != nil || token != json.Delim('[') {
		return errors.Join(err, errors.New("its result is no list"))
	}
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		var one stream
		if err := bounded.JSON(raw, &one, maxHeld*4); err != nil {
			return err
		}
		label := func(name string) string { return one.Stream[name] }
		for _, v := range one.Values {
			var stamp, text string
			if len(v) < 2 || json.Unmarshal(v[0], &stamp) != nil || json.Unmarshal(v[1], &text) != nil {
				return errors.New("a line has another form")
			}
			nanos, err := strconv.ParseInt(stamp, 10, 64)
			if err != nil {
				return errors.New("a time is none")
			}
			if err := each(s.made(time.Unix(0, nanos), label, text)); err != nil {
				return err
			}
		}
	}
	_, err := d.Token()
	return err
}
