package chartindex

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/aliases"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// MaxBytes limits an index.
	MaxBytes = 128 << 20
	// MaxVersions limits its versions, of all charts together.
	MaxVersions = 500_000
	// maxLine is how much of a line is read. Only icons as data URLs are
	// longer, and they are not needed.
	maxLine = 64 << 10
	// maxUnusual limits an index in a YAML style that needs a complete parser.
	maxUnusual = 4 << 20
)

// errUnusual means that the YAML is in a style that no common tool generates.
var errUnusual = errors.New("unusual YAML")

// Parse parses an index. errcode.Unprocessable when it is invalid.
func Parse(r io.ReadSeeker) (*Index, error) {
	x, err := parse(r)
	if errors.Is(err, errUnusual) {
		x, err = parseWhole(r)
	}
	return x, err
}

func parse(r io.ReadSeeker) (*Index, error) {
	in := bufio.NewReaderSize(r, maxLine)
	b := &builder{}
	var err error
	switch firstByte(in) {
	case '{':
		err = b.json(in)
	case 0x1f: // of gzip
		err = errcode.New(errcode.Unprocessable, "the index is compressed with gzip and its server does not declare it; publish index.yaml as text, or with Content-Encoding: gzip")
	default:
		err = b.yaml(in)
	}
	if err != nil {
		return nil, err
	}
	return b.index()
}

// firstByte returns the first byte that is neither a space nor part of a byte
// order mark.
func firstByte(in *bufio.Reader) byte {
	for i := 1; i < 1024; i++ {
		head, err := in.Peek(i)
		if err != nil {
			return 0
		}
		if c := head[i-1]; c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != 0xef && c != 0xbb && c != 0xbf {
			return c
		}
	}
	return 0
}

func parseWhole(r io.ReadSeeker) (*Index, error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(r, maxUnusual+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxUnusual {
		return nil, garbage("its YAML is of a style that can be read only up to %d bytes", maxUnusual)
	}
	if err := aliases.Check(raw); err != nil {
		return nil, garbage("%w", err)
	}
	plain, err := yaml.YAMLToJSON(raw)
	if err != nil {
		return nil, garbage("%.200v", err)
	}
	b := &builder{}
	if err := b.json(bytes.NewReader(plain)); err != nil {
		return nil, err
	}
	return b.index()
}

func garbage(format string, args ...any) error {
	return errcode.New(errcode.Unprocessable, "the repository's index.yaml cannot be read: "+format, args...)
}

// item is one version while it is parsed.
type item struct {
	Version    string   `json:"version"`
	URLs       []string `json:"urls"`
	Digest     string   `json:"digest"`
	Created    string   `json:"created"`
	Deprecated bool     `json:"deprecated"`
	Removed    bool     `json:"removed"`
}

// builder collects the rows of an index.
type builder struct {
	x       Index
	entries bool // the key was seen
}

func (b *builder) chart(name string) error {
	if err := b.room(len(name)); err != nil {
		return err
	}
	n := uint32(len(b.x.rows))
	b.x.charts = append(b.x.charts, chart{name: b.put(name), from: n, to: n})
	return nil
}

func (b *builder) room(n int) error {
	if len(b.x.text)+n > math.MaxInt32 {
		return garbage("it is too large")
	}
	if len(b.x.rows) >= MaxVersions || len(b.x.charts) >= MaxVersions {
		return garbage("it lists more than %d versions", MaxVersions)
	}
	return nil
}

func (b *builder) put(s string) span {
	at := uint32(len(b.x.text))
	b.x.text = append(b.x.text, s...)
	return span{at, uint32(len(s))}
}

// add adds a version of the last chart.
func (b *builder) add(i item) error {
	if i.Version == "" || len(i.URLs) == 0 || i.URLs[0] == "" {
		b.x.skipped++
		return nil
	}
	if err := b.room(len(i.Version) + len(i.URLs[0])); err != nil {
		return err
	}
	r := row{version: b.put(i.Version), url: b.put(i.URLs[0])}
	if raw, err := hex.DecodeString(strings.TrimPrefix(i.Digest, "sha256:")); err == nil && len(raw) == len(r.digest) {
		r.digest, r.flags = [32]byte(raw), r.flags|hasDigest
	}
	if at, err := time.Parse(time.RFC3339, i.Created); err == nil && at.Year() > 1970 {
		r.created = at.Unix()
	}
	if i.Deprecated {
		r.flags |= deprecated
	}
	if i.Removed {
		r.flags |= removed
	}
	b.x.rows = append(b.x.rows, r)
	b.x.charts[len(b.x.charts)-1].to = uint32(len(b.x.rows))
	return nil
}

func (b *builder) index() (*Index, error) {
	if !b.entries {
		return nil, garbage("it has no entries; is the URL that of a chart repository?")
	}
	x := &b.x
	slices.SortStableFunc(x.charts, func(a, c chart) int { return strings.Compare(x.str(a.name), x.str(c.name)) })
	for i := range x.charts[min(1, len(x.charts)):] {
		if name := x.str(x.charts[i].name); name == x.str(x.charts[i+1].name) {
			return nil, garbage("it has the chart %.200q twice", name)
		}
	}
	return x, nil
}

// json parses an index in JSON, one version at a time.
func (b *builder) json(r io.Reader) error {
	d := json.NewDecoder(r)
	if err := delim(d, '{'); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return garbage("%.200v", err)
		}
		if key != "entries" {
			if err := skip(d); err != nil {
				return err
			}
			continue
		}
		b.entries = true
		if err := b.jsonEntries(d); err != nil {
			return err
		}
	}
	return nil
}

// skip skips one value.
func skip(d *json.Decoder) error {
	depth := 0
	for {
		t, err := d.Token()
		if err != nil {
			return garbage("%.200v", err)
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

func delim(d *json.Decoder, want json.Delim) error {
	t, err := d.Token()
	if err != nil {
		return garbage("%.200v", err)
	}
	if t != want {
		return garbage("at byte %d stands %.40v, not %v", d.InputOffset(), t, want)
	}
	return nil
}

func (b *builder) jsonEntries(d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t == nil {
		if err != nil {
			return garbage("%.200v", err)
		}
		return nil // null
	} else if t != json.Delim('{') {
		return garbage("its entries are not a map")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return garbage("%.200v", err)
		}
		name, _ := key.(string)
		if err := b.chart(name); err != nil {
			return err
		}
		t, err := d.Token()
		if err != nil {
			return garbage("%.200v", err)
		}
		if t == nil {
			continue
		}
		if t != json.Delim('[') {
			return garbage("the versions of chart %.200q are not a list", name)
		}
		for d.More() {
			if err := b.jsonItem(d); err != nil {
				return err
			}
		}
		if err := delim(d, ']'); err != nil {
			return err
		}
	}
	return delim(d, '}')
}

// jsonItem parses one version. A field of a wrong type invalidates only its
// version, as in Helm.
func (b *builder) jsonItem(d *json.Decoder) error {
	var i item
	err := d.Decode(&i)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		b.x.skipped++
		return nil
	}
	if err != nil {
		return garbage("%.200v", err)
	}
	return b.add(i)
}
