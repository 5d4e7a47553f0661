package picture

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
)

// Window is the time that a picture shows.
type Window struct {
	From, To time.Time
	// Scrape is the time between two readings, Rate what stands for $__rate_interval.
	Scrape, Rate time.Duration
}

// dashboard is what is read of Grafana's JSON.
type dashboard struct {
	Title  string
	Panels []panel
}

type panel struct {
	Type, Title string
	GridPos     struct{ H, W, X, Y int }
	FieldConfig struct{ Defaults struct{ Unit string } }
	Targets     []struct{ Expr, LegendFormat string }
}

// line is one series of a panel.
type line struct {
	name   string
	points []promql.FPoint
}

const (
	// cell is the size of a field of Grafana's grid, which has 24 columns.
	cellWidth, cellHeight = 44, 34
	gap                   = 8
	heading               = 40
)

var palette = []string{"#3a7d44", "#b8860b", "#2f6db5", "#c8553d", "#7d4fa8", "#2a9d8f", "#8a5a44", "#5c677d"}

// Draw draws a dashboard of Grafana from what was recorded.
func Draw(ctx context.Context, text []byte, from storage.Queryable, w Window) ([]byte, error) {
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("no dashboard: %w", err)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 5e6, Timeout: time.Minute, LookbackDelta: 5 * w.Scrape / 2})
	defer engine.Close() //nolint:errcheck // it holds nothing
	rows := 0
	for _, p := range d.Panels {
		rows = max(rows, p.GridPos.Y+p.GridPos.H)
	}
	var out strings.Builder
	width, height := 24*cellWidth+gap, heading+rows*cellHeight+gap
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui,sans-serif" font-size="11" fill="#24292f">`+"\n", width, height)
	fmt.Fprintf(&out, `<title>%s</title><rect width="100%%" height="100%%" fill="#f4f5f7"/><text x="%d" y="26" font-size="17" font-weight="600">%[1]s</text>`+"\n", html.EscapeString(d.Title), gap)
	fmt.Fprintf(&out, `<text x="%d" y="26" text-anchor="end" fill="#57606a">%.0f min of a real hub under a simulated fleet</text>`+"\n", width-gap, w.To.Sub(w.From).Minutes())
	for _, p := range d.Panels {
		var lines []line
		for _, target := range p.Targets {
			found, err := evaluate(ctx, engine, from, w, target.Expr, target.LegendFormat)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", d.Title, p.Title, err)
			}
			lines = append(lines, found...)
		}
		p.draw(&out, lines, w)
	}
	out.WriteString("</svg>\n")
	return []byte(out.String()), nil
}

var placeholder = regexp.MustCompile(`\{\{ *(\w+) *\}\}`)

func evaluate(ctx context.Context, engine *promql.Engine, from storage.Queryable, w Window, expr, legend string) ([]line, error) {
	expr = strings.NewReplacer("$__rate_interval", w.Rate.String(), "$job", ".*").Replace(expr)
	query, err := engine.NewRangeQuery(ctx, from, nil, expr, w.From, w.To, w.Scrape)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(ctx)
	matrix, err := result.Matrix()
	if err != nil {
		return nil, err
	}
	lines := make([]line, 0, len(matrix))
	for _, s := range matrix {
		name := placeholder.ReplaceAllStringFunc(legend, func(m string) string { return s.Metric.Get(placeholder.FindStringSubmatch(m)[1]) })
		if name == "" {
			name = labels.NewBuilder(s.Metric).Del("job", model.MetricNameLabel).Labels().String()
		}
		points := slices.DeleteFunc(slices.Clone(s.Floats), func(p promql.FPoint) bool { return math.IsNaN(p.F) || math.IsInf(p.F, 0) })
		if len(points) > 0 {
			lines = append(lines, line{name, points})
		}
	}
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.name, b.name) })
	return lines, nil
}

// draw writes a panel at its place.
func (p panel) draw(out *strings.Builder, lines []line, w Window) {
	width, height := p.GridPos.W*cellWidth-gap, p.GridPos.H*cellHeight-gap
	fmt.Fprintf(out, `<g transform="translate(%d %d)"><rect width="%d" height="%d" rx="3" fill="#fff" stroke="#d0d7de"/><text x="10" y="18" font-weight="600">%s</text>`,
		gap+p.GridPos.X*cellWidth, heading+p.GridPos.Y*cellHeight, width, height, html.EscapeString(p.Title))
	unit := p.FieldConfig.Defaults.Unit
	switch {
	case len(lines) == 0:
		fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle" fill="#8c959f">No data</text>`, width/2, height/2+8)
	case p.Type == "stat":
		points := lines[0].points
		fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle" font-size="26" fill="%s">%s</text>`, width/2, height/2+18, palette[0], amount(points[len(points)-1].F, unit))
	default:
		chart(out, lines, unit, w, width, height)
	}
	out.WriteString("</g>\n")
}

// chart draws lines over time, with a scale from zero and a legend.
func chart(out *strings.Builder, lines []line, unit string, w Window, width, height int) {
	const left, top, below = 62, 30, 18
	bottom := legend(out, lines, width, height) - below
	most := 0.0
	for _, l := range lines {
		for _, p := range l.points {
			most = max(most, p.F)
		}
	}
	scale := 1.0 // of a round number
	for unit == "bytes" && most/scale >= 1024 {
		scale *= 1024
	}
	step := scale * nice(most/scale/3)
	highest := step * math.Max(1, math.Ceil(most/step))
	y := func(v float64) float64 { return float64(bottom) - v/highest*float64(bottom-top) }
	x := func(t int64) float64 {
		return left + float64(t-w.From.UnixMilli())/float64(w.To.Sub(w.From).Milliseconds())*float64(width-left-12)
	}
	for v := 0.0; v <= highest*1.001; v += step {
		fmt.Fprintf(out, `<path d="M%d %.1fH%d" stroke="#e6e8eb"/><text x="%d" y="%.1f" text-anchor="end" fill="#57606a">%s</text>`, left, y(v), width-12, left-6, y(v)+4, amount(v, unit))
	}
	for _, part := range []float64{0, 0.5, 1} {
		at := w.From.Add(time.Duration(part * float64(w.To.Sub(w.From))))
		anchor := map[float64]string{0: "start", 0.5: "middle", 1: "end"}[part]
		fmt.Fprintf(out, `<text x="%.0f" y="%d" text-anchor="%s" fill="#57606a">%s</text>`, x(at.UnixMilli()), bottom+14, anchor, at.UTC().Format("15:04:05"))
	}
	for i, l := range lines {
		var path strings.Builder
		last := int64(0)
		for _, p := range l.points {
			verb := "L"
			if p.T-last > 2*w.Scrape.Milliseconds() {
				verb = "M"
			}
			last = p.T
			fmt.Fprintf(&path, "%s%.0f %s", verb, x(p.T), strconv.FormatFloat(math.Round(y(p.F)*10)/10, 'f', -1, 64))
		}
		fmt.Fprintf(out, `<path d="%s" fill="none" stroke="%s" stroke-width="1.4" stroke-linejoin="round"/>`, path.String(), palette[i%len(palette)])
	}
}

// legend names the lines at the bottom, as many as there is room for, and returns where
// it begins.
func legend(out *strings.Builder, lines []line, width, height int) int {
	const row, letter = 15, 6.2
	type entry struct{ x, row int }
	var places []entry
	x, rows := 10, 0
	for _, l := range lines {
		wide := 22 + int(float64(len(l.name))*letter)
		if x+wide > width-8 && x > 10 {
			x, rows = 10, rows+1
		}
		places = append(places, entry{x, rows})
		x += wide
	}
	begin := height - 8 - row*rows
	for i, l := range lines {
		y := begin + places[i].row*row
		fmt.Fprintf(out, `<path d="M%d %dh10" stroke="%s" stroke-width="3"/><text x="%d" y="%d">%s</text>`, places[i].x, y-4, palette[i%len(palette)], places[i].x+14, y, html.EscapeString(l.name))
	}
	return begin - 10
}

// nice rounds a step up to 1, 2 or 5 times a power of ten.
func nice(step float64) float64 {
	if step <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, n := range []float64{1, 2, 5} {
		if step <= n*power*1.0001 {
			return n * power
		}
	}
	return 10 * power
}

// amount is a number in a unit of Grafana.
func amount(v float64, unit string) string {
	scaled := func(v float64, base float64, names ...string) string {
		i := 0
		for ; math.Abs(v) >= base && i < len(names)-1; i++ {
			v /= base
		}
		return short(v) + names[i]
	}
	switch unit {
	case "bytes":
		return scaled(v, 1024, " B", " KiB", " MiB", " GiB", " TiB")
	case "Bps":
		return scaled(v, 1000, " B/s", " kB/s", " MB/s", " GB/s")
	case "percentunit":
		return short(100*v) + " %"
	case "reqps":
		return short(v) + "/s"
	case "s":
		switch a := math.Abs(v); {
		case a == 0:
			return "0 s"
		case a < 0.001:
			return short(v*1e6) + " µs"
		case a < 1:
			return short(v*1000) + " ms"
		case a < 120:
			return short(v) + " s"
		case a < 7200:
			return short(v/60) + " min"
		case a < 2*86400:
			return short(v/3600) + " h"
		}
		return short(v/86400) + " d"
	}
	return scaled(v, 1000, "", " K", " M", " G")
}

// short is a number with three digits at most.
func short(v float64) string {
	digits := 2
	switch a := math.Abs(v); {
	case a >= 100:
		digits = 0
	case a >= 10:
		digits = 1
	case a < 0.1 && a > 0:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
