package testrun

import (
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/scrub"
)

// The limits of what is kept of a report.
const (
	maxCases       = 20
	maxCaseText    = 512
	maxReportDepth = 32
)

func looksLikeJUnit(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "<?xml") || strings.HasPrefix(text, "<testsuite")
}

var errNoJUnit = errors.New("it contains no testcase")

// readJUnit counts the cases of a report, in any nesting of suites, and keeps the
// first failed ones. It ignores the counts in the file: writers leave them out or get
// them wrong.
func readJUnit(text string, scrubber *scrub.Scrubber) (*agentv1.TestReport, error) {
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.Strict = false
	report := &agentv1.TestReport{}
	short := func(text string) string { return cut(scrubber.String(strings.TrimSpace(text)), maxCaseText) }
	suite, depth, suites := "", 0, 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch element := token.(type) {
		case xml.EndElement:
			depth--
		case xml.StartElement:
			if depth++; depth > maxReportDepth {
				return nil, errors.New("it is nested too deep")
			}
			switch element.Name.Local {
			case "testsuite":
				suite = short(attribute(element, "name"))
				suites++
			case "testcase":
				var one junitCase
				if err := decoder.DecodeElement(&one, &element); err != nil {
					return nil, err
				}
				depth--
				one.count(report)
				if bad := one.bad(); bad != nil && len(report.Failed) < maxCases {
					message := bad.Message
					if message == "" {
						message = bad.Text
					}
					report.Failed = append(report.Failed, &agentv1.TestCase{Suite: suite, Name: short(one.Name), Message: short(message)})
				}
			}
		}
	}
	if suites == 0 && report.Tests == 0 {
		return nil, errNoJUnit
	}
	return report, nil
}

type junitCase struct {
	Name    string      `xml:"name,attr"`
	Time    string      `xml:"time,attr"`
	Failure *junitFault `xml:"failure"`
	Error   *junitFault `xml:"error"`
	Skipped *struct{}   `xml:"skipped"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (c junitCase) bad() *junitFault {
	if c.Failure != nil {
		return c.Failure
	}
	return c.Error
}

func (c junitCase) count(report *agentv1.TestReport) {
	report.Tests++
	switch {
	case c.Failure != nil:
		report.Failures++
	case c.Error != nil:
		report.Errors++
	case c.Skipped != nil:
		report.Skipped++
	}
	if seconds, err := strconv.ParseFloat(c.Time, 64); err == nil && seconds > 0 && seconds < 1e6 {
		report.DurationMicros += int64(seconds * 1e6)
	}
}

func attribute(element xml.StartElement, name string) string {
	for _, a := range element.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func cut(text string, limit int) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "�")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
