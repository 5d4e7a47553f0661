package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// idleLimit ends a stream on which nothing moved for that long.
const idleLimit = 4 * time.Hour

// server answers the API server's requests to a kubelet.
func (k *Kubelet) server() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	mux.HandleFunc("/metrics/cadvisor", k.serveMetrics)
	mux.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", k.serveLogs)
	for _, uid := range []string{"", "{uid}/"} {
		mux.HandleFunc("/exec/{namespace}/{pod}/"+uid+"{container}", k.serveExec)
		mux.HandleFunc("/attach/{namespace}/{pod}/"+uid+"{container}", k.serveAttach)
	}
	mux.HandleFunc("/portForward/{namespace}/{pod}", k.servePortForward)
	mux.HandleFunc("/portForward/{namespace}/{pod}/{uid}", k.servePortForward)
	return &http.Server{Handler: mux, ReadHeaderTimeout: 30 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
}

// running finds a container's present run, or answers the request.
func (k *Kubelet) running(w http.ResponseWriter, req *http.Request) (*pod, *process) {
	p := k.find(req.PathValue("namespace"), req.PathValue("pod"))
	if p == nil {
		http.Error(w, "pod does not exist", http.StatusNotFound)
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.container(req.PathValue("container"))
	if c == nil || c.now == nil {
		http.Error(w, fmt.Sprintf("container %q of pod %q does not run", req.PathValue("container"), p.object.Name), http.StatusNotFound)
		return nil, nil
	}
	return p, c.now
}

// session serves one exec, attach or port-forward on one run of a container.
type session struct {
	p *pod
	r *process
}

// ExecInContainer implements remotecommand.Executor.
func (s session) ExecInContainer(ctx context.Context, _, _, _ string, cmd []string, in io.Reader, out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	return s.p.runIn(ctx, s.r, cmd, makeStreams(in, out, errs, tty, resize))
}

// AttachContainer implements remotecommand.Attacher.
func (s session) AttachContainer(ctx context.Context, _, _, _ string, in io.Reader, out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	return s.p.attach(ctx, s.r, makeStreams(in, out, errs, tty, resize))
}

// PortForward implements portforward.PortForwarder.
func (s session) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	return s.p.forward(ctx, port, stream)
}

// makeStreams keeps absent streams absent: a nil writer inside an interface
// would not be nil to os/exec.
func makeStreams(in io.Reader, out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) streams {
	s := streams{tty: tty, resize: resize}
	if in != nil {
		s.in = in
	}
	if out != nil {
		s.out = out
	}
	if errs != nil {
		s.err = errs
	}
	return s
}

func (k *Kubelet) serveExec(w http.ResponseWriter, req *http.Request) {
	p, r := k.running(w, req)
	if p == nil {
		return
	}
	options, err := remotecommand.NewOptions(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, req, session{p, r}, p.object.Name, string(p.object.UID), req.PathValue("container"), req.Form["command"], options,
		idleLimit, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

func (k *Kubelet) serveAttach(w http.ResponseWriter, req *http.Request) {
	p, r := k.running(w, req)
	if p == nil {
		return
	}
	options, err := remotecommand.NewOptions(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeAttach(w, req, session{p, r}, p.object.Name, string(p.object.UID), req.PathValue("container"), options,
		idleLimit, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

func (k *Kubelet) servePortForward(w http.ResponseWriter, req *http.Request) {
	p := k.find(req.PathValue("namespace"), req.PathValue("pod"))
	if p == nil {
		http.Error(w, "pod does not exist", http.StatusNotFound)
		return
	}
	options, err := portforward.NewV4Options(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, req, session{p: p}, p.object.Name, string(p.object.UID), options,
		idleLimit, remotecommand.DefaultStreamCreationTimeout, portforward.SupportedProtocols)
}

func (k *Kubelet) serveLogs(w http.ResponseWriter, req *http.Request) {
	options, err := logOptions(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p := k.find(req.PathValue("namespace"), req.PathValue("pod"))
	if p == nil {
		http.Error(w, "pod does not exist", http.StatusNotFound)
		return
	}
	file, err := p.logOf(req.PathValue("container"), options.Previous)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := sendLog(w, req, file, options); err != nil {
		k.cfg.Log.Debug("send log", "pod", p.object.Name, "err", err)
	}
}

// logOf finds the log of a container's present or last run, or of the one
// before it.
func (p *pod) logOf(name string, previous bool) (*logFile, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.container(name)
	if c == nil {
		return nil, fmt.Errorf("container %q is not in pod %q", name, p.object.Name)
	}
	at := len(c.logs) - 1
	if previous && c.state.Waiting == nil { // while it waits, its last run is the previous one
		at--
	}
	if at >= 0 {
		return c.logs[at], nil
	}
	if previous {
		return nil, fmt.Errorf("previous terminated container %q in pod %q not found", name, p.object.Name)
	}
	reason := "ContainerCreating"
	if c.state.Waiting != nil {
		reason = c.state.Waiting.Reason
	}
	return nil, fmt.Errorf("container %q in pod %q is waiting to start: %s", name, p.object.Name, reason)
}

var errLimit = errors.New("the limit of bytes is reached")

func sendLog(w http.ResponseWriter, req *http.Request, file *logFile, options corev1.PodLogOptions) error {
	var offset int64
	if options.TailLines != nil {
		var err error
		if offset, err = file.tailOffset(*options.TailLines); err != nil {
			return err
		}
	}
	since := time.Time{}
	if options.SinceSeconds != nil {
		since = time.Now().Add(-time.Duration(*options.SinceSeconds) * time.Second)
	} else if options.SinceTime != nil {
		since = options.SinceTime.Time
	}
	left := int64(-1)
	if options.LimitBytes != nil {
		left = *options.LimitBytes
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	flush := http.NewResponseController(w)
	begins := true
	err := file.read(req.Context(), offset, options.Follow, func(rec record) error {
		if rec.at.Before(since) {
			return nil
		}
		text := rec.text + end(rec)
		if options.Timestamps && begins {
			text = rec.stamp + " " + text
		}
		begins = rec.full
		if left >= 0 {
			if int64(len(text)) > left {
				text = text[:left]
			}
			left -= int64(len(text))
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		if left == 0 {
			return errLimit
		}
		if options.Follow {
			return flush.Flush()
		}
		return nil
	})
	if errors.Is(err, errLimit) {
		return nil
	}
	return err
}

// logOptions reads the query that the API server makes of PodLogOptions.
func logOptions(req *http.Request) (corev1.PodLogOptions, error) {
	query := req.URL.Query()
	options := corev1.PodLogOptions{
		Follow:     query.Get("follow") == "true",
		Previous:   query.Get("previous") == "true",
		Timestamps: query.Get("timestamps") == "true",
	}
	for name, to := range map[string]**int64{"tailLines": &options.TailLines, "sinceSeconds": &options.SinceSeconds, "limitBytes": &options.LimitBytes} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil || value < 0 {
			return options, fmt.Errorf("%s: %q is not a number", name, text)
		}
		*to = &value
	}
	if text := query.Get("sinceTime"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return options, fmt.Errorf("sinceTime: %w", err)
		}
		stamp := metav1.NewTime(at)
		options.SinceTime = &stamp
	}
	return options, nil
}
