// Package podlogs reads the logs of pods from a Kubernetes API, as axle logs
// shows them.
//
// It knows neither hubs nor services: cli/clusters finds the pods of a service, and
// gives it the address and the credential with which the API is reached through
// the hub. The cluster's own RBAC decides what may be read.
//
// Invariants: a line is at most 64 KiB; a longer one is cut into several. At
// most 50 logs are followed at once. Pods that start later are not followed.
package podlogs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// maxLine is the longest line that is shown whole, in bytes.
	maxLine = 64 << 10
	// maxAnswer bounds a pod or an error of the API, in bytes.
	maxAnswer = 8 << 20
	// maxFollowed bounds the logs that are followed at once.
	maxFollowed = 50
	// together is how many pods or logs are read at once without following.
	together = 8
)

// Pod names a pod.
type Pod struct{ Namespace, Name string }

// Options say what is read.
type Options struct {
	// Container is the only container; empty is every container of a pod that
	// is no init container.
	Container string
	// Follow keeps reading until the context or all logs end.
	Follow bool
	// Previous reads the run before the present one.
	Previous bool
	// Timestamps begins each line with its time.
	Timestamps bool
	// Tail is how many lines are read of each log from its end; -1 is all.
	Tail int64
	// Since leaves out what is older; zero leaves nothing out.
	Since time.Duration
}

// Reader reads logs from one API.
type Reader struct {
	// HTTP sends requests with the credential.
	HTTP *http.Client
	// Server is the base URL of the API.
	Server string
	// Out gets the logs, Err what is left out.
	Out, Err io.Writer
	Options  Options
}

// source is one log.
type source struct {
	pod       Pod
	container string
}

func (s source) String() string { return s.pod.Name + " " + s.container }

// Read writes the logs of the pods. If there are several, each line begins with
// its pod and container. Without Follow, one log follows the other.
//
// Errors are NotFound for a container that no pod has, Exhausted for too many
// logs to follow, and those of the API.
func (r *Reader) Read(ctx context.Context, pods []Pod) error {
	sources, err := r.sources(ctx, pods)
	if err != nil {
		return err
	}
	if r.Options.Follow && len(sources) > maxFollowed {
		return errcode.New(errcode.Exhausted, "%d logs are too many to follow at once, at most %d; name one container with --container, or read them without --follow", len(sources), maxFollowed)
	}
	var lines sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(1)
	if r.Options.Follow {
		group.SetLimit(maxFollowed)
	}
	for _, s := range sources {
		label := ""
		if len(sources) > 1 {
			label = s.String() + " | "
		}
		group.Go(func() error { return r.one(ctx, s, label, &lines) })
	}
	return group.Wait()
}

// sources are the logs of the pods, in their order.
func (r *Reader) sources(ctx context.Context, pods []Pod) ([]source, error) {
	found := make([][]string, len(pods))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(together)
	for i, pod := range pods {
		group.Go(func() (err error) {
			found[i], err = r.containers(groupCtx, pod)
			if errcode.Is(err, errcode.NotFound) {
				return nil // it ended since it was listed
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var all []source
	var others []string
	for i, names := range found {
		for _, name := range names {
			initial := strings.HasPrefix(name, initMark)
			name = strings.TrimPrefix(name, initMark)
			switch {
			case r.Options.Container == name || r.Options.Container == "" && !initial:
				all = append(all, source{pods[i], name})
			case !slices.Contains(others, name):
				others = append(others, name)
			}
		}
	}
	if len(all) == 0 && r.Options.Container != "" {
		return nil, errcode.New(errcode.NotFound, "no pod has a container %q; the containers are: %s", r.Options.Container, strings.Join(others, ", "))
	}
	return all, nil
}

// initMark stands before the name of an init container; no name has it.
const initMark = "*"

// containers are the names of a pod's containers, init containers marked.
func (r *Reader) containers(ctx context.Context, pod Pod) ([]string, error) {
	answer, err := r.get(ctx, pod, "", nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var is struct {
		Spec struct {
			InitContainers, Containers []struct{ Name string }
		}
	}
	if err := bounded.ReadJSON(answer.Body, &is, maxAnswer); err != nil {
		return nil, errcode.New(errcode.Unavailable, "read pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	var names []string
	for _, c := range is.Spec.InitContainers {
		names = append(names, initMark+c.Name)
	}
	for _, c := range is.Spec.Containers {
		names = append(names, c.Name)
	}
	return names, nil
}

// one writes one log. A container that has not started is noted and left out.
func (r *Reader) one(ctx context.Context, s source, label string, lines *sync.Mutex) error {
	query := url.Values{"container": {s.container}}
	for name, on := range map[string]bool{"follow": r.Options.Follow, "previous": r.Options.Previous, "timestamps": r.Options.Timestamps} {
		if on {
			query.Set(name, "true")
		}
	}
	if r.Options.Tail >= 0 {
		query.Set("tailLines", strconv.FormatInt(r.Options.Tail, 10))
	}
	if r.Options.Since > 0 {
		query.Set("sinceSeconds", strconv.FormatInt(max(1, int64(r.Options.Since.Seconds())), 10))
	}
	answer, err := r.get(ctx, s.pod, "/log", query)
	if errcode.Is(err, errcode.Invalid) || errcode.Is(err, errcode.NotFound) {
		lines.Lock()
		defer lines.Unlock()
		_, err = fmt.Fprintf(r.Err, "%s: %s\n", s, err)
		return err
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	from := bufio.NewReaderSize(answer.Body, maxLine)
	for {
		line, _, err := from.ReadLine()
		if err == nil {
			lines.Lock()
			_, err = fmt.Fprintf(r.Out, "%s%s\n", label, line)
			lines.Unlock()
			if err != nil {
				return err
			}
			continue
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		return errcode.New(errcode.Unavailable, "the log of %s was cut: %w", s, err)
	}
}

// get asks the API about a pod. The caller closes the body.
func (r *Reader) get(ctx context.Context, pod Pod, below string, query url.Values) (*http.Response, error) {
	address := strings.TrimSuffix(r.Server, "/") + "/api/v1/namespaces/" + url.PathEscape(pod.Namespace) + "/pods/" + url.PathEscape(pod.Name) + below
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := r.HTTP.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errcode.New(errcode.Unavailable, "read pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxLine))
	var status struct{ Message string }
	if err != nil || json.Unmarshal(text, &status) != nil || status.Message == "" {
		status.Message = answer.Status
	}
	return nil, errcode.New(codeOf(answer.StatusCode), "pod %s/%s: %s", pod.Namespace, pod.Name, status.Message)
}

func codeOf(status int) errcode.Code {
	switch status {
	case http.StatusBadRequest:
		return errcode.Invalid
	case http.StatusUnauthorized:
		return errcode.Unauthorized
	case http.StatusForbidden:
		return errcode.Forbidden
	case http.StatusNotFound:
		return errcode.NotFound
	}
	return errcode.Unavailable
}
