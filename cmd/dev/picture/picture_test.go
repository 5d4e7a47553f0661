package picture_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/cmd/dev/picture"
)

const board = `{"title": "Axle & Co", "panels": [
 {"type": "stat", "title": "Clusters", "gridPos": {"h": 4, "w": 4, "x": 0, "y": 0}, "fieldConfig": {"defaults": {"unit": "short"}},
  "targets": [{"expr": "sum(axle_clusters{job=~\"$job\"})", "legendFormat": ""}]},
 {"type": "timeseries", "title": "Polls", "gridPos": {"h": 8, "w": 12, "x": 0, "y": 4}, "fieldConfig": {"defaults": {"unit": "reqps"}},
  "targets": [{"expr": "sum by (result) (rate(axle_polls_total{job=~\"$job\"}[$__rate_interval]))", "legendFormat": "{{result}}"}]},
 {"type": "timeseries", "title": "Nothing", "gridPos": {"h": 8, "w": 12, "x": 12, "y": 4}, "targets": [{"expr": "axle_absent"}]}]}`

// A picture says what Prometheus would answer: sums over replicas, rates, and no line
// where a replica had gone.
func TestPictureShowsWhatPrometheusAnswers(t *testing.T) {
	var r picture.Recorder
	begin := time.Unix(1_700_000_000, 0)
	for i := range 61 {
		at := begin.Add(time.Duration(i) * 5 * time.Second)
		for n, name := range []string{"hub-0", "hub-1"} {
			if n == 1 && i > 30 {
				continue // it was killed
			}
			text := fmt.Sprintf("# TYPE axle_clusters gauge\naxle_clusters %d\naxle_polls_total{result=\"changed\"} %d\naxle_polls_total{result=\"same\"} %d\n", 40+n, i*5, i*20)
			if err := r.Take([]byte(text), at, "axle", name); err != nil {
				t.Fatal(err)
			}
		}
	}
	drawn, err := picture.Draw(t.Context(), []byte(board), &r, picture.Window{From: begin, To: begin.Add(5 * time.Minute), Scrape: 5 * time.Second, Rate: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(drawn))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("it is no XML: %v\n%s", err, drawn)
		}
	}
	text := string(drawn)
	for _, want := range []string{"Axle &amp; Co", ">40</text>", ">changed</text>", ">same</text>", ">No data</text>", ">10/s</text>"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not show %s", want)
		}
	}
	// 8 and 2 a second, half of that after the kill.
	if lines := regexp.MustCompile(`<path d="M[0-9.]+ [0-9.]+L`).FindAllString(text, -1); len(lines) != 2 {
		t.Errorf("%d lines are drawn, of 2\n%s", len(lines), text)
	}
	if err := r.Take([]byte("axle_clusters{ 1"), begin, "axle", "hub-0"); err == nil || !strings.Contains(err.Error(), "hub-0") {
		t.Errorf("broken metrics: %v", err)
	}
}

// The pictures of the docs are of the dashboards as they are: a panel that came or went
// wants make dashboard-pictures.
func TestPicturesOfTheDocsShowEveryPanel(t *testing.T) {
	files, err := filepath.Glob("../../../deploy/dashboards/*.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	size := 0
	for _, file := range files {
		var board struct {
			Title  string
			Panels []struct{ Title string }
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &board)
		}
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json") + ".svg"
		drawn, err := os.ReadFile("../../../docs/pictures/" + name)
		if err != nil {
			t.Fatal(err)
		}
		size += len(drawn)
		titles := []string{board.Title}
		for _, p := range board.Panels {
			titles = append(titles, p.Title)
		}
		for _, title := range titles {
			if !strings.Contains(string(drawn), ">"+html.EscapeString(title)+"</text>") {
				t.Errorf("%s does not show %s: make dashboard-pictures", name, title)
			}
		}
		if n := strings.Count(string(drawn), `<g transform=`); n != len(board.Panels) {
			t.Errorf("%s shows %d panels, of %d: make dashboard-pictures", name, n, len(board.Panels))
		}
	}
	if size > 300<<10 {
		t.Errorf("the pictures have %d KiB", size>>10)
	}
}
