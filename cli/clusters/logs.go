package clusters

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/sdk"
)

// logsWithin bounds reading logs that are not followed.
const logsWithin = 5 * time.Minute

// logFlags are what is asked for.
type logFlags struct {
	request                hubv1.SearchLogsRequest
	cluster                string
	tail                   int64
	since                  time.Duration
	sinceTime, untilTime   string
	grep                   string
	store, query           string
	invert                 bool
	before, after, around  int32
	timestamps, localTimes bool
}

// Logs shows the logs of a service's pods.
func Logs(a *command.App) *cobra.Command {
	var f logFlags
	c := &cobra.Command{
		Use: "logs CLUSTER/SERVICE|CLUSTER/NAMESPACE/KIND/NAME", Short: "Show the logs of a service or a workload", Args: command.Exactly(1),
		Long: `Show the logs of all containers of a service's pods, or of one Deployment,
StatefulSet, DaemonSet, Job, CronJob, Service or Pod, merged by their times. They are
read from the cluster now, through the hub and the agent, with your name and your
rights there: you see what pods/log lets you see. If there are several containers, each
line begins with its pod and its container.

With --follow, pods that start later are read too. A tunnel that goes down is one line
on standard error; what was written meanwhile comes when it is up again, and nothing
comes twice. Lines that come faster than they are taken are dropped and counted. The
command ends when nothing can be written any more, or when it is interrupted.

A LogTail of platform.plural.sh is read like the workload that it names, and a LogFilter
asks the cluster's store of logs.

At most 50 containers are read at once: first those of pods that are not ready, then the
newest. A line of more than 16 KiB is cut, with a mark; control characters and terminal
sequences are taken out.

Times are UTC, or local with --local. --since-time and --until-time take RFC 3339, or
"2026-03-29 02:30" in UTC, or with --local in your own time zone, where a time that a
change of the clock left out or repeated is refused.`,
		Example: `  axle logs edge-1/web
  axle logs edge-1/web --follow --tail 20
  axle logs edge-1/web --since 1h --grep 'timeout|refused' -C 3
  axle logs edge-1/shop/Deployment/web --container proxy --since 1h --timestamps
  axle logs edge-1/web --store any --since 72h --grep panic
  axle logs edge-1 --store any --query '{app="web"} |= "error"' --follow
  axle logs edge-1/shop/LogFilter/errors --since 24h
  axle logs edge-1/web --previous -o json | jq -r .text`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.read(args[0], c.Flags().Changed("tail"), time.Now()); err != nil {
				return err
			}
			if !output.Human(a.Output) && a.Output != output.JSON {
				return exitcode.Usagef("logs are printed as text, or with -o json as one object a line")
			}
			client, err := a.Client()
			if err != nil {
				return err
			}
			if f.request.Follow {
				return f.follow(c.Context(), a, client)
			}
			ctx, cancel := context.WithTimeout(c.Context(), logsWithin)
			defer cancel()
			p := f.printer(a)
			return p.stream(ctx, client, &f.request)
		},
	}
	f.flags(c.Flags())
	return c
}

func (f *logFlags) flags(flags *pflag.FlagSet) {
	flags.StringVar(&f.cluster, "cluster", "", "cluster, if the argument is only SERVICE")
	flagvalue.ListP(flags, &f.request.Containers, "container", "c", "only this container, which may be an init container (default: all but init containers that have succeeded)")
	flagvalue.List(flags, &f.request.Pods, "pod", "only this pod; separate several with commas")
	flags.BoolVarP(&f.request.Follow, "follow", "f", false, "keep printing what the containers write, also of pods that start later")
	flags.Int64Var(&f.tail, "tail", 100, "how many lines of each container, from its end; -1 for all (default with --grep: all)")
	flags.DurationVar(&f.since, "since", 0, "only lines since a duration ago, such as 1h")
	flags.StringVar(&f.sinceTime, "since-time", "", "only lines since a time, such as 2026-11-29T20:00:00Z")
	flags.StringVar(&f.untilTime, "until-time", "", "only lines up to a time")
	flags.StringVar(&f.grep, "grep", "", "only lines that match a regular expression (RE2)")
	flags.BoolVarP(&f.invert, "invert-match", "v", false, "with --grep: only lines that do not match")
	flags.Int32VarP(&f.after, "after-context", "A", 0, "how many lines of the container to show after each match")
	flags.Int32VarP(&f.before, "before-context", "B", 0, "how many lines of the container to show before each match")
	flags.Int32VarP(&f.around, "context-lines", "C", 0, "how many lines of the container to show around each match")
	flags.BoolVar(&f.request.Previous, "previous", false, "the logs of the run before, of a container that restarted")
	flags.StringVar(&f.store, "store", "", "read a store of logs of the cluster, VictoriaLogs or Loki, in place of the pods, also what these do not keep: its name, or any for the only one")
	flags.StringVar(&f.query, "query", "", "with --store: matchers and filters of LogQL, such as '{app=\"web\"} |= \"error\"'")
	flags.BoolVar(&f.timestamps, "timestamps", false, "begin each line with its time")
	flags.BoolVar(&f.localTimes, "local", false, "times in the local time zone, with its offset; implies --timestamps")
}

// read makes the request of the flags.
func (f *logFlags) read(argument string, tailGiven bool, now time.Time) error {
	m := &f.request
	if f.store != "" {
		m.Store = &hubv1.LogStore{Name: f.store, Query: f.query}
		if f.store == "any" {
			m.Store.Name = ""
		}
	}
	if parts := strings.Split(argument, "/"); len(parts) == 4 && !slices.Contains(parts, "") {
		m.Cluster, m.Namespace, m.Kind, m.Name = parts[0], parts[1], parts[2], parts[3]
	} else if f.store != "" && len(parts) == 1 && f.cluster == "" {
		m.Cluster = argument
	} else if len(parts) > 2 {
		return exitcode.Usagef("%q is neither CLUSTER/SERVICE nor CLUSTER/NAMESPACE/KIND/NAME", argument)
	} else {
		ref, err := command.ServiceRef(argument, f.cluster)
		if err != nil {
			return err
		}
		m.Cluster, m.Service = ref.GetCluster(), ref.GetName()
	}
	switch {
	case f.tail < -1 || f.since < 0:
		return exitcode.Usagef("--tail is a number of lines, or -1 for all; --since is a duration such as 1h")
	case f.since > 0 && f.sinceTime != "":
		return exitcode.Usagef("give one of --since and --since-time")
	case f.store == "" && f.query != "":
		return exitcode.Usagef("--query goes with --store; --grep filters the lines of pods")
	case f.grep == "" && (f.invert || f.before+f.after+f.around > 0):
		return exitcode.Usagef("-v, -A, -B and -C go with --grep")
	}
	if m.Match = f.grep; f.invert {
		m.Match, m.Exclude = "", f.grep
	}
	m.Before, m.After = max(f.before, f.around), max(f.after, f.around)
	if m.TailLines = max(f.tail, 0); f.grep != "" && !tailGiven {
		m.TailLines = 0
	}
	if f.since > 0 {
		m.Since = clock.Micros(now.Add(-f.since))
	}
	for _, t := range []struct {
		flag, text string
		to         *int64
	}{{"--since-time", f.sinceTime, &m.Since}, {"--until-time", f.untilTime, &m.Until}} {
		if t.text == "" {
			continue
		}
		zone := time.UTC
		if f.localTimes {
			zone = time.Local
		}
		at, err := readTime(t.text, zone)
		if err != nil {
			return exitcode.Usagef("%s: %v", t.flag, err)
		}
		*t.to = clock.Micros(at)
	}
	return nil
}

// readTime reads RFC 3339, or a date and a time of a zone. A time that the zone's clocks
// never showed, or showed twice, is refused.
func readTime(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		t, err := time.ParseInLocation(layout, text, zone)
		if err != nil {
			continue
		}
		if t.Format(layout) != text {
			return t, fmt.Errorf("%s was left out in %s, where the clocks went forward; give the time with its offset, as %s", text, zone, t.Format(time.RFC3339))
		}
		for _, d := range []time.Duration{-time.Hour, time.Hour, -30 * time.Minute, 30 * time.Minute} {
			// The layout may leave out the time of the day.
			if other := t.Add(d); other.Format(time.DateTime) == t.Format(time.DateTime) {
				if other.Before(t) {
					t, other = other, t
				}
				return t, fmt.Errorf("%s was twice in %s, where the clocks went back; give the time with its offset: %s or %s", text, zone, t.Format(time.RFC3339), other.Format(time.RFC3339))
			}
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time; write 2026-11-29T20:00:00Z or 2026-11-29 20:00", text)
}

// follow streams until nothing is written any more. A stream that the hub ends is opened
// again at the newest line.
func (f *logFlags) follow(ctx context.Context, a *command.App, client *sdk.Client) error {
	p := f.printer(a)
	wait := jitter.Backoff{Min: time.Second, Max: 15 * time.Second}
	for {
		had := p.count
		err := p.stream(ctx, client, &f.request)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil || !command.Transient(err) || p.count == 0:
			return err
		case p.count > had:
			wait.Reset()
		}
		fmt.Fprintf(a.Err, "the hub ended the stream (%s); it is opened again\n", errcode.Text(err))
		if jitter.Wait(ctx, wait.Next()) != nil {
			return nil
		}
		p.again(&f.request)
	}
}

// logPrinter prints what comes.
type logPrinter struct {
	*logFlags
	app    *command.App
	out    *bufio.Writer
	json   *json.Encoder
	labels bool
	count  int64
	// last is the newest time, and had how many lines of each container have it: what is
	// read again after the hub ended the stream.
	last string
	had  map[string]int
	skip map[string]int
	from string
}

func (f *logFlags) printer(a *command.App) *logPrinter {
	out := bufio.NewWriter(a.Out)
	p := &logPrinter{logFlags: f, app: a, out: out, json: json.NewEncoder(out), had: map[string]int{}}
	p.json.SetEscapeHTML(false)
	return p
}

// again asks for what comes after the newest line.
func (p *logPrinter) again(m *hubv1.SearchLogsRequest) {
	if at, err := time.Parse(time.RFC3339Nano, p.last); err == nil {
		m.Since, m.TailLines = clock.Micros(at.Truncate(time.Microsecond)), 0
		p.from, p.skip = p.last, p.had
		p.had = map[string]int{}
	}
}

// stream prints one stream to its end.
func (p *logPrinter) stream(ctx context.Context, client *sdk.Client, m *hubv1.SearchLogsRequest) error {
	stream, err := client.ClusterAPI.SearchLogs(ctx, connect.NewRequest(m))
	if err != nil {
		return sdk.Error(err, client.URL)
	}
	defer stream.Close()
	for stream.Receive() {
		if err := p.show(stream.Msg()); err != nil {
			return err
		}
	}
	return sdk.Error(stream.Err(), client.URL)
}

// logView is a line for programs.
type logView struct {
	Time      string `json:"time,omitempty"`
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Container string `json:"container"`
	Text      string `json:"text"`
	CutBytes  int64  `json:"cutBytes,omitempty"`
	Context   bool   `json:"context,omitempty"`
}

func (p *logPrinter) show(m *hubv1.SearchLogsResponse) error {
	for _, n := range m.GetNotices() {
		fmt.Fprintln(p.app.Err, output.OneLine(n.GetText()))
	}
	if n := m.GetDropped(); n > 0 {
		fmt.Fprintf(p.app.Err, "%s dropped: they came faster than they were taken\n", output.Count(n, "line"))
	}
	p.labels = p.labels || len(m.GetSources()) > 1
	for _, l := range m.GetLines() {
		if p.seen(l) {
			continue
		}
		p.count++
		if err := p.line(l); err != nil {
			return err
		}
	}
	return p.out.Flush()
}

// seen notes a line, and reports whether it was printed before the stream was opened again.
func (p *logPrinter) seen(l *hubv1.LogLine) bool {
	of := l.GetPod() + " " + l.GetContainer()
	if l.GetTime() > p.last {
		p.last = l.GetTime()
		clear(p.had)
	}
	if l.GetTime() == p.last {
		p.had[of]++
	}
	if l.GetTime() < p.from {
		return true
	}
	if l.GetTime() == p.from && p.skip[of] > 0 {
		p.skip[of]--
		return true
	}
	return false
}

func (p *logPrinter) line(l *hubv1.LogLine) error {
	stamp := l.GetTime()
	if p.localTimes {
		if t, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
			stamp = t.Local().Format("2006-01-02T15:04:05.000000000Z07:00")
		}
	}
	if p.app.Output == output.JSON {
		return p.json.Encode(logView{stamp, p.request.GetCluster(), l.GetNamespace(), l.GetPod(), l.GetContainer(), l.GetText(), l.GetCutBytes(), l.GetContext()})
	}
	var head string
	if p.labels {
		mark := " | "
		if l.GetContext() {
			mark = " - "
		}
		head = l.GetPod() + " " + l.GetContainer() + mark
	}
	if p.timestamps || p.localTimes {
		head += stamp + " "
	}
	tail := ""
	if n := l.GetCutBytes(); n > 0 {
		tail = fmt.Sprintf(" … %s more", output.Count(n, "byte"))
	}
	_, err := fmt.Fprintf(p.out, "%s%s%s\n", head, l.GetText(), tail)
	return err
}
