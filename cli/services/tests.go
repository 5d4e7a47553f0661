package services

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/testlog"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/sdk"
)

// testsEvery is how often the hub is asked while tests are followed: an agent
// reports every second or two.
const testsEvery = time.Second

// testView is one test of one run as -o json and -o yaml show it.
type testView struct {
	Revision       int64           `json:"revision"`
	SourceRevision string          `json:"sourceRevision"`
	Test           string          `json:"test"`
	State          string          `json:"state"`
	Attempt        int32           `json:"attempt"`
	Attempts       int32           `json:"attempts"`
	StartedAt      string          `json:"startedAt"`
	EndedAt        string          `json:"endedAt"`
	Duration       string          `json:"duration"`
	Message        string          `json:"message"`
	Tail           string          `json:"tail"`
	Report         *testReportView `json:"report,omitempty"`
}

type testReportView struct {
	Tests    int32          `json:"tests"`
	Failures int32          `json:"failures"`
	Errors   int32          `json:"errors"`
	Skipped  int32          `json:"skipped"`
	Failed   []testCaseView `json:"failed,omitempty"`
}

type testCaseView struct {
	Suite   string `json:"suite"`
	Name    string `json:"name"`
	Message string `json:"message"`
}

// duration is how long a test took, or has taken.
func duration(a *command.App, start, end int64) string {
	if start == 0 {
		return ""
	}
	if end == 0 {
		end = a.Now().UnixMicro()
	}
	return (time.Duration(max(0, end-start)) * time.Microsecond).Round(time.Second).String()
}

func testViews(a *command.App, runs []*hubv1.TestRun) []testView {
	views := []testView{}
	for _, run := range runs {
		for _, t := range run.GetTests() {
			v := testView{
				Revision: run.GetRevision(), SourceRevision: run.GetSourceRevision(), Test: testlog.Name(t), State: t.GetState(),
				Attempt: t.GetAttempt(), Attempts: t.GetAttempts(), StartedAt: fields.Stamp(t.GetStartedAt()), EndedAt: fields.Stamp(t.GetEndedAt()),
				Duration: duration(a, t.GetStartedAt(), t.GetEndedAt()), Message: t.GetMessage(), Tail: t.GetTail(),
			}
			if j := t.GetReport(); j != nil {
				v.Report = &testReportView{Tests: j.GetTests(), Failures: j.GetFailures(), Errors: j.GetErrors(), Skipped: j.GetSkipped()}
				for _, c := range j.GetFailed() {
					v.Report.Failed = append(v.Report.Failed, testCaseView{c.GetSuite(), c.GetName(), c.GetMessage()})
				}
			}
			views = append(views, v)
		}
	}
	return views
}

// cases is the report in one word.
func (v testView) cases() string {
	if v.Report == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d failed", v.Report.Failures+v.Report.Errors, v.Report.Tests)
}

func printTests(a *command.App, views []testView) error {
	return command.PrintList(a, views, func(v testView) string { return v.Test },
		command.Col("REVISION", func(v testView) string {
			return strconv.FormatInt(v.Revision, 10) + " " + command.Short(v.SourceRevision)
		}),
		command.Col("TEST", func(v testView) string { return v.Test }),
		command.Col("STATE", func(v testView) string { return v.State }),
		command.Col("ATTEMPT", func(v testView) string {
			if v.Attempt == 0 {
				return ""
			}
			return fmt.Sprintf("%d of %d", v.Attempt, v.Attempts)
		}),
		command.Col("TOOK", func(v testView) string { return v.Duration }),
		command.Col("CASES", testView.cases),
		command.Col("MESSAGE", func(v testView) string { return v.Message }),
	)
}

func testsCommand(a *command.App) *cobra.Command {
	var cluster string
	var follow, all bool
	var timeout time.Duration
	request := &hubv1.ListTestsRequest{}
	c := &cobra.Command{
		Use: "tests CLUSTER/NAME", Short: "Show how a service's tests ran, or follow them as they run", Args: command.Exactly(1),
		Long: "Show how a service's tests ran: those of the newest run, or of all that are kept.\n\n" +
			"With --follow the logs are shown as the tests write them, until all have ended;\n" +
			"the exit status is then 1 when one failed. A test is a Job or Pod of the service with\n" +
			"the annotation axle-cd.github.io/hook: Test.",
		Example: `  axle services tests edge-1/shop
  axle services tests edge-1/shop --follow
  axle services tests edge-1/shop -o json | jq '.[] | select(.state == "Failed") | .tail'`,
		RunE: func(c *cobra.Command, args []string) error {
			ref, err := command.ServiceRef(args[0], cluster)
			if err != nil {
				return err
			}
			request.Ref = ref
			client, err := a.Client()
			if err != nil {
				return err
			}
			if follow {
				ctx, cancel := context.WithTimeout(c.Context(), timeout)
				defer cancel()
				return followTests(ctx, a, client, request)
			}
			answer, err := client.Services.ListTests(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			runs := answer.Msg.GetRuns()
			if !all && request.Revision == 0 && len(runs) > 1 {
				runs = runs[:1]
			}
			return printTests(a, testViews(a, runs))
		},
	}
	c.Flags().StringVar(&cluster, "cluster", "", "cluster, when the argument is only NAME")
	c.Flags().Int64Var(&request.Revision, "revision", 0, "only of this revision of the service")
	c.Flags().BoolVar(&all, "all", false, "all runs that are kept, not only the newest")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show logs as they are written, until all tests have ended")
	c.Flags().DurationVar(&timeout, "timeout", time.Hour, "how long to follow at most")
	return c
}

// followTests shows the newest run until it has ended.
func followTests(ctx context.Context, a *command.App, client *sdk.Client, request *hubv1.ListTestsRequest) error {
	shown := testlog.Log{Out: a.Out}
	for {
		answer, err := client.Services.ListTests(ctx, connect.NewRequest(request))
		if err != nil {
			return err
		}
		if runs := answer.Msg.GetRuns(); len(runs) > 0 {
			shown.Show(runs[0])
			switch runs[0].GetState() {
			case "Passed":
				return nil
			case "Failed":
				return fmt.Errorf("tests failed: %s", runs[0].GetMessage())
			}
		} else {
			shown.Say("", "no test has run yet; tests run once everything else is healthy, and axle services get shows the rest")
		}
		if err := jitter.Wait(ctx, testsEvery); err != nil {
			return fmt.Errorf("the tests have not ended: %w", err)
		}
	}
}
