package kubelet

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ticks are how many of the kernel's units of processor time are a second, on every
// architecture that Go knows.
const ticks = 100

// usage is what the processes of one run of a container use.
type usage struct {
	pod       *pod
	container string
	image     string
	id        string
	pid       int
	started   float64
	cpu       float64 // seconds
	memory    int64   // bytes
}

// serveMetrics answers as cAdvisor in a kubelet does, for the containers that run. Pods share
// the machine's network, so each has the counters of its loopback interface.
func (k *Kubelet) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	all := k.usages()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	out := bufio.NewWriter(w)
	defer out.Flush()
	family(out, "container_cpu_usage_seconds_total", "counter", all, func(u usage) (string, float64) { return `cpu="total",`, u.cpu })
	family(out, "container_memory_working_set_bytes", "gauge", all, func(u usage) (string, float64) { return "", float64(u.memory) })
	family(out, "container_memory_rss", "gauge", all, func(u usage) (string, float64) { return "", float64(u.memory) })
	family(out, "container_start_time_seconds", "gauge", all, func(u usage) (string, float64) { return "", u.started })
	network(out, all)
}

func family(out io.Writer, name, kind string, all []usage, value func(usage) (labels string, value float64)) {
	fmt.Fprintf(out, "# TYPE %s %s\n", name, kind)
	for _, u := range all {
		labels, v := value(u)
		fmt.Fprintf(out, "%s{%scontainer=%q,id=%q,image=%q,name=%q,namespace=%q,pod=%q} %s\n", name, labels,
			u.container, u.id, u.image, u.id, u.pod.object.Namespace, u.pod.object.Name, strconv.FormatFloat(v, 'f', -1, 64))
	}
}

// network writes the counters of each pod, which a kubelet has once a pod.
func network(out io.Writer, all []usage) {
	for at, name := range []string{"container_network_receive_bytes_total", "container_network_transmit_bytes_total"} {
		fmt.Fprintf(out, "# TYPE %s counter\n", name)
		var last *pod
		for _, u := range all {
			if u.pod == last {
				continue
			}
			last = u.pod
			counters, err := loopbackBytes(u.pid)
			if err != nil {
				continue // it has ended
			}
			fmt.Fprintf(out, "%s{container=\"\",id=%q,image=\"\",interface=\"lo\",name=\"\",namespace=%q,pod=%q} %d\n",
				name, "/"+string(u.pod.object.UID), u.pod.object.Namespace, u.pod.object.Name, counters[at])
		}
	}
}

// usages are those of all containers that run, in order.
func (k *Kubelet) usages() []usage {
	k.mu.Lock()
	var pods []*pod
	for _, p := range k.pods {
		pods = append(pods, p)
	}
	k.mu.Unlock()
	slices.SortFunc(pods, func(a, b *pod) int { return strings.Compare(string(a.object.UID), string(b.object.UID)) })
	table := processes()
	var all []usage
	for _, p := range pods {
		all = append(all, p.usages(table)...)
	}
	return all
}

func (p *pod) usages(table map[int]entry) []usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []usage
	for _, c := range slices.Concat(p.inits, p.mains) {
		if c.now == nil {
			continue
		}
		u := usage{
			pod: p, container: c.spec.Name, image: c.spec.Image, pid: c.now.cmd.Process.Pid,
			started: float64(c.now.started.UnixMilli()) / 1000,
			id:      fmt.Sprintf("/%s/%s/%d", p.object.UID, c.spec.Name, len(c.logs)-1),
		}
		if _, ok := table[u.pid]; ok {
			u.add(table, u.pid)
			all = append(all, u)
		}
	}
	return all
}

// add counts a process and its descendants.
func (u *usage) add(table map[int]entry, pid int) {
	e := table[pid]
	u.cpu += e.cpu
	u.memory += e.memory
	for _, child := range e.children {
		u.add(table, child)
	}
}

// entry is a process of the machine. What its children used that have ended is in its own
// processor time.
type entry struct {
	cpu      float64 // seconds
	memory   int64   // bytes
	children []int
}

// processes reads the machine's table of processes. One that ends meanwhile is not in it.
func processes() map[int]entry {
	table := map[int]entry{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
	parents := map[int]int{}
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if e, parent, ok := parseStat(string(text)); ok {
			table[pid], parents[pid] = e, parent
		}
	}
	for pid, parent := range parents {
		e, ok := table[parent]
		if ok {
			e.children = append(e.children, pid)
			table[parent] = e
		}
	}
	return table
}

// parseStat reads /proc/<pid>/stat. The name before the last bracket may have any character.
func parseStat(text string) (e entry, parent int, ok bool) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const ppid, user, last, pages = 1, 11, 14, 21 // from the state on; utime stime cutime cstime
	if len(fields) <= pages {
		return e, 0, false
	}
	number := func(at int) int64 {
		n, err := strconv.ParseInt(fields[at], 10, 64)
		ok = ok && err == nil
		return n
	}
	ok = true
	for at := user; at <= last; at++ {
		e.cpu += float64(number(at)) / ticks
	}
	e.memory = number(pages) * int64(os.Getpagesize())
	return e, int(number(ppid)), ok
}

// loopbackBytes reads what the loopback interface of a process has received and sent.
func loopbackBytes(pid int) ([2]int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
	if err != nil {
		return [2]int64{}, err
	}
	for line := range strings.Lines(string(text)) {
		name, counters, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields := strings.Fields(counters)
		if name != "lo" || len(fields) < 9 {
			continue
		}
		received, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return [2]int64{}, err
		}
		sent, err := strconv.ParseInt(fields[8], 10, 64)
		return [2]int64{received, sent}, err
	}
	return [2]int64{}, fmt.Errorf("/proc/%d/net/dev has no interface lo", pid)
}
