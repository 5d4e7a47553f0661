package testrun

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/scrub"
)

func TestJUnit(t *testing.T) {
	t.Parallel()
	secret := scrub.New(map[string]string{"k": "hunter22"})
	for name, test := range map[string]struct {
		text string
		want *agentv1.TestReport
	}{
		"suites": {`<?xml version="1.0"?><testsuites tests="99"><testsuite name="a"><testcase name="one" time="1.5"/>
			<testcase name="two"><failure message="got hunter22">stack</failure></testcase></testsuite>
			<testsuite name="b"><testcase name="three"><error>boom</error></testcase><testcase name="four"><skipped/></testcase></testsuite></testsuites>`,
			&agentv1.TestReport{Tests: 4, Failures: 1, Errors: 1, Skipped: 1, DurationMicros: 1_500_000, Failed: []*agentv1.TestCase{
				{Suite: "a", Name: "two", Message: "got [secret k]"}, {Suite: "b", Name: "three", Message: "boom"}}}},
		"empty suite": {`<testsuite name="none"/>`, &agentv1.TestReport{}},
		"no JUnit":    {`<html><body/></html>`, nil},
		"no XML":      {`hello`, nil},
		"cut off":     {`<testsuite><testcase name="a">`, nil},
		"deep":        {strings.Repeat("<testsuite>", 100), nil},
	} {
		got, err := readJUnit(test.text, secret)
		if (err != nil) != (test.want == nil) || !proto.Equal(got, test.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	many := "<testsuite>" + strings.Repeat(`<testcase name="x"><failure message="m"/></testcase>`, 1000) + "</testsuite>"
	if got, err := readJUnit(many, nil); err != nil || got.GetFailures() != 1000 || len(got.GetFailed()) != maxCases {
		t.Errorf("many: %d of %d, %v", len(got.GetFailed()), got.GetFailures(), err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	log := &tail{scrub: scrub.New(map[string]string{"k": "hunter22"})}
	line := strings.Repeat("x", 99)
	for range 1000 {
		log.add(line)
	}
	log.add(strings.Repeat("y", 1<<20))
	log.add("the end with hunter22\r")
	log.add("-----BEGIN JUNIT-----")
	log.add("<broken")
	log.add("-----END JUNIT-----")
	var out agentv1.TestResult
	log.put(&out)
	if len(out.GetTail()) > maxTail || !strings.HasSuffix(out.GetTail(), "\nthe end with [secret k]\n") || !strings.HasPrefix(out.GetTail(), "xxx") {
		t.Errorf("%d bytes: %.20q … %q", len(out.GetTail()), out.GetTail(), out.GetTail()[len(out.GetTail())-40:])
	}
	if out.GetLogBytes() < 100_000 || out.GetReport() != nil || !strings.Contains(log.note, "cannot be read") {
		t.Errorf("%d bytes in all, report %v, note %q", out.GetLogBytes(), out.GetReport(), log.note)
	}
}

// FuzzJUnit holds that a report of any log has its bound: so many cases, each of three texts.
func FuzzJUnit(f *testing.F) {
	for _, text := range []string{"", "<testsuite/>", `<testsuites><testsuite name="a"><testcase name="b"><failure message="c">d</failure></testcase></testsuite></testsuites>`,
		"<testsuite>" + strings.Repeat(`<testcase name="x"><error/></testcase>`, 100), "<testsuite><testcase>" + strings.Repeat("<a>", 500), strings.Repeat("<testsuite>", 100), "<?xml <!-- <![CDATA["} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := readJUnit(text, nil)
		if err != nil {
			return
		}
		if size := proto.Size(got); size > maxCases*(3*(maxCaseText+16)+16)+64 {
			t.Errorf("%d bytes of a log become a report of %d", len(text), size)
		}
	})
}
