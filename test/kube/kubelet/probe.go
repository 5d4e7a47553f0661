package kubelet

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// watchHealth asks a run's probes until the context ends: the startup probe
// first, then readiness and liveness side by side.
func (p *pod) watchHealth(ctx context.Context, c *container, r *process) {
	if probe := c.spec.StartupProbe; probe != nil && !p.startup(ctx, c, r, probe) {
		return
	}
	if ctx.Err() != nil {
		return
	}
	p.changeRun(c, r, func() { c.started, c.ready = true, c.spec.ReadinessProbe == nil })
	if probe := c.spec.ReadinessProbe; probe != nil {
		go p.every(ctx, c, r, probe, func(healthy bool, failures int32) bool {
			if healthy || failures >= probe.FailureThreshold {
				p.changeRun(c, r, func() { c.ready = healthy })
			}
			return true
		})
	}
	if probe := c.spec.LivenessProbe; probe != nil {
		p.every(ctx, c, r, probe, func(_ bool, failures int32) bool {
			return !p.sickAfter(c, failures, probe.FailureThreshold)
		})
	}
}

// changeRun changes the container unless that run of it is over.
func (p *pod) changeRun(c *container, r *process, f func()) {
	p.change(func() {
		if c.now == r {
			f()
		}
	})
}

func (p *pod) startup(ctx context.Context, c *container, r *process, probe *corev1.Probe) bool {
	up := false
	p.every(ctx, c, r, probe, func(healthy bool, failures int32) bool {
		up = healthy
		return !healthy && !p.sickAfter(c, failures, probe.FailureThreshold)
	})
	return up
}

// sickAfter has the container restarted when a probe failed too often.
func (p *pod) sickAfter(c *container, failures, threshold int32) bool {
	if failures < threshold {
		return false
	}
	select {
	case c.sick <- "probe failed":
	default:
	}
	return true
}

// every asks the probe at its period until the context ends or seen says no.
// Until its first success it asks each second, so that tests need not wait for
// a period of ten.
func (p *pod) every(ctx context.Context, c *container, r *process, probe *corev1.Probe, seen func(healthy bool, failures int32) bool) {
	wait := time.Duration(probe.InitialDelaySeconds) * time.Second
	period := time.Duration(max(probe.PeriodSeconds, 1)) * time.Second
	var failures int32
	first := probe == c.spec.ReadinessProbe
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		attempt, cancel := context.WithTimeout(ctx, time.Duration(max(probe.TimeoutSeconds, 1))*time.Second)
		err := p.ask(attempt, c, r, probe)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if failures++; err == nil {
			failures, first = 0, false
		}
		if !seen(err == nil, failures) {
			return
		}
		if wait = period; first {
			wait = time.Second
		}
	}
}

// ask asks a probe once.
func (p *pod) ask(ctx context.Context, c *container, r *process, probe *corev1.Probe) error {
	switch {
	case probe.HTTPGet != nil:
		return p.askHTTP(ctx, c, probe.HTTPGet)
	case probe.Exec != nil:
		return p.runIn(ctx, r, probe.Exec.Command, streams{out: io.Discard, err: io.Discard})
	case probe.TCPSocket != nil:
		return p.askTCP(ctx, portOf(c.spec, probe.TCPSocket.Port))
	case probe.GRPC != nil:
		return p.askTCP(ctx, int(probe.GRPC.Port))
	}
	return nil
}

func (p *pod) askTCP(ctx context.Context, port int) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", p.ip, port))
	if err == nil {
		conn.Close()
	}
	return err
}

// probes go to addresses of this machine, each on its own connection.
var probeClient = &http.Client{
	Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // as a kubelet's
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (p *pod) askHTTP(ctx context.Context, c *container, get *corev1.HTTPGetAction) error {
	host := get.Host
	if host == "" {
		host = p.ip
	}
	url := fmt.Sprintf("%s://%s:%d/%s", strings.ToLower(string(get.Scheme)), host, portOf(c.spec, get.Port), strings.TrimPrefix(get.Path, "/"))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	for _, h := range get.HTTPHeaders {
		req.Header.Add(h.Name, h.Value)
	}
	resp, err := probeClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode >= 400 {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}

func portOf(c *corev1.Container, port intstr.IntOrString) int {
	if port.Type == intstr.String {
		for _, p := range c.Ports {
			if p.Name == port.StrVal {
				return int(p.ContainerPort)
			}
		}
	}
	return port.IntValue()
}
