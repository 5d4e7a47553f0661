package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
)

const (
	// maxElement bounds one series of an answer in bytes, and maxSmall what is no series.
	maxElement = 4 << 20
	maxSmall   = 256 << 10
	// maxLabels bounds the labels of a series, maxLabel one text of them.
	maxLabels = 200
	maxLabel  = 2000
	// maxWarnings is how many warnings of a store are shown.
	maxWarnings = 5
)

// errForm is an answer that is not of Prometheus' API.
var errForm = errors.New("it has another form")

// answerReader reads {"status": …, "data": …, "warnings": …} piece by piece: an answer of many
// series is never in memory as a whole.
type answerReader struct {
	*json.Decoder
	status, failure, kind string
	notices               []string
}

func newAnswerReader(from io.Reader) *answerReader {
	return &answerReader{Decoder: json.NewDecoder(from)}
}

// object calls each for every key of an object; it reads the value.
func (d *answerReader) object(each func(key string) error) error {
	if err := d.delimiter('{'); err != nil {
		return err
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return errForm
		}
		if err := each(key); err != nil {
			return err
		}
	}
	return d.delimiter('}')
}

// list calls each for every element of a list, also of one that is null.
func (d *answerReader) list(each func() error) error {
	token, err := d.Token()
	switch {
	case err != nil:
		return err
	case token == nil:
		return nil
	case token != json.Delim('['):
		return errForm
	}
	for d.More() {
		if err := each(); err != nil {
			return err
		}
	}
	return d.delimiter(']')
}

func (d *answerReader) delimiter(want json.Delim) error {
	token, err := d.Token()
	if err == nil && token != want {
		err = errForm
	}
	return err
}

// small decodes a value of few bytes.
func (d *answerReader) small(into any, most int) error {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return err
	}
	if len(raw) > most {
		return errcode.New(errcode.Unprocessable, "a part of the answer is larger than %d KiB", most>>10)
	}
	if err := bounded.CheckJSON(raw, into, bounded.Most(most)); err != nil {
		return errcode.New(errcode.Unprocessable, "a part of the answer is too large: %w", err)
	}
	return json.Unmarshal(raw, into)
}

// read reads an answer; data reads what it is about.
func (d *answerReader) read(data func() error) error {
	err := d.object(func(key string) error {
		switch key {
		case "data":
			return data()
		case "status":
			return d.small(&d.status, maxSmall)
		case "error":
			return d.small(&d.failure, maxSmall)
		case "errorType":
			return d.small(&d.kind, maxSmall)
		case "isPartial": // of VictoriaMetrics
			var partial bool
			if err := d.small(&partial, maxSmall); err != nil {
				return err
			}
			if partial {
				d.notices = append(d.notices, "the answer is only a part: some of the store's nodes did not answer")
			}
			return nil
		case "warnings", "infos":
			var texts []string
			if err := d.small(&texts, maxSmall); err != nil {
				return err
			}
			for _, text := range texts[:min(len(texts), maxWarnings)] {
				d.notices = append(d.notices, plain.Line("the store warns: "+text, maxWords))
			}
			return nil
		}
		var other json.RawMessage
		return d.small(&other, maxElement)
	})
	switch {
	case err != nil:
		return formed(err)
	case d.status == "error":
		return errcode.New(errcode.Unprocessable, "the store cannot answer the query: %s: %s", plain.Line(d.kind, 60), plain.Line(d.failure, maxWords))
	case d.status != "success":
		return errForm
	}
	return nil
}

// formed is the error of reading: one of JSON says where, and quotes nothing.
func formed(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("no JSON at byte %d", syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Errorf("a %s in the place of another value", kind.Value)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("it ends in the middle")
	}
	return err
}

// decodeQuery reads the answer to a query.
func decodeQuery(from io.Reader) (*Result, error) {
	counted := &counter{from: from}
	d, r := newAnswerReader(counted), &Result{}
	collected := collector{result: r}
	err := d.read(func() error {
		return d.object(func(key string) error {
			switch key {
			case "resultType":
				return d.small(&r.Type, maxSmall)
			case "result":
				return d.result(&collected)
			case "stats":
				return d.stats(r)
			}
			var other json.RawMessage
			return d.small(&other, maxElement)
		})
	})
	if err != nil {
		return nil, err
	}
	r.Bytes, r.Notices = counted.n, d.notices
	return r, collected.done()
}

// counter counts bytes.
type counter struct {
	from io.Reader
	n    int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

func (d *answerReader) stats(r *Result) error {
	var stats struct {
		Samples struct {
			Total json.Number `json:"totalQueryableSamples"`
		} `json:"samples"`
	}
	if err := d.small(&stats, maxElement); err != nil {
		return err
	}
	r.Samples, _ = stats.Samples.Total.Int64()
	return nil
}

// point is a sample: [1435781430.781, "1"].
type point struct {
	at    int64
	value float64
	text  string
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *point) UnmarshalJSON(raw []byte) error {
	at, value, ok := bytes.Cut(bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("[")), []byte("]")), []byte(","))
	if !ok {
		return errForm
	}
	time, err := strconv.ParseFloat(string(bytes.TrimSpace(at)), 64)
	if err != nil || math.IsNaN(time) || math.Abs(time) > 1e11 {
		return errForm
	}
	p.at = int64(math.Round(time*1e3)) * 1e3
	if err := json.Unmarshal(value, &p.text); err != nil {
		return errForm
	}
	p.value, err = strconv.ParseFloat(p.text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		p.value = math.NaN() // the text of a string
	}
	return nil
}

// element is a series in an answer.
type element struct {
	Metric     map[string]string `json:"metric"`
	Value      *point            `json:"value"`
	Values     []point           `json:"values"`
	Histogram  json.RawMessage   `json:"histogram"`
	Histograms json.RawMessage   `json:"histograms"`
}

// collector collects series within the bounds.
type collector struct {
	result     *Result
	values     int
	histograms int
	lone       []json.RawMessage
}

// result reads the result: a list of series, or the point of a scalar or a string.
func (d *answerReader) result(c *collector) error {
	return d.list(func() error {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		if len(raw) > maxElement {
			return errcode.New(errcode.Unprocessable, "one series of the answer is larger than %d MiB: use a longer step, or a shorter range", maxElement>>20)
		}
		if raw[0] != '{' {
			if len(c.lone) == 2 {
				return errForm
			}
			c.lone = append(c.lone, raw)
			return nil
		}
		return c.add(raw)
	})
}

func (c *collector) add(raw json.RawMessage) error {
	if len(c.result.Series) >= maxSeries || c.values >= maxValues {
		c.result.Cut++
		return nil
	}
	var e element
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	if e.Histogram != nil || e.Histograms != nil {
		c.histograms++
	}
	if e.Value != nil {
		e.Values = []point{*e.Value}
	}
	if len(e.Metric) > maxLabels || len(e.Values) > 2*maxPoints {
		return errcode.New(errcode.Unprocessable, "a series of the answer has %d labels and %d points", len(e.Metric), len(e.Values))
	}
	c.values += len(e.Values)
	s := Series{Labels: labelsOf(e.Metric), Times: make([]int64, len(e.Values)), Values: make([]float64, len(e.Values))}
	for i, p := range e.Values {
		s.Times[i], s.Values[i] = p.at, p.value
	}
	c.result.Series = append(c.result.Series, s)
	return nil
}

// labelsOf are labels in order, each as one line of text.
func labelsOf(metric map[string]string) []Label {
	out := make([]Label, 0, len(metric))
	for name, value := range metric {
		out = append(out, Label{plain.Line(name, maxLabel), plain.Line(value, maxLabel)})
	}
	slices.SortFunc(out, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// done completes the result.
func (c *collector) done() error {
	r := c.result
	if c.histograms > 0 {
		r.Notices = append(r.Notices, fmt.Sprintf("%d series are native histograms, which are not shown: use histogram_quantile(0.95, …)", c.histograms))
	}
	if len(c.lone) == 0 {
		if r.Type != "vector" && r.Type != "matrix" && len(r.Series) > 0 {
			return errForm
		}
		return nil
	}
	var p point
	if len(c.lone) != 2 || len(r.Series) > 0 {
		return errForm
	}
	if err := p.UnmarshalJSON([]byte("[" + string(c.lone[0]) + "," + string(c.lone[1]) + "]")); err != nil {
		return err
	}
	if r.Type == "string" {
		r.Text = plain.Line(p.text, maxLabel)
		return nil
	}
	r.Series = []Series{{Times: []int64{p.at}, Values: []float64{p.value}}}
	return nil
}
