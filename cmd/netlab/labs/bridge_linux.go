package labs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"golang.org/x/net/netutil"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// bridge leads from a port of this machine's loopback to the API of a lab, for who has its
// token: other users of the machine can connect to the port, too. kubectl sends a token over TLS
// only, so that the bridge has a certificate of its own.
type bridge struct {
	server *http.Server
	ended  chan error
	lab    *http.Transport
	name   string
	url    string
	token  string
	ca     []byte // PEM
}

// What other users of the machine can take of a bridge.
const (
	bridgeConns    = 256
	bridgePatience = 10 * time.Second
)

// openBridge listens on a free port of loopback, or on the one that is given. Close ends it.
func openBridge(lab *engine.Client, name string, port uint16) (*bridge, error) {
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	b := &bridge{name: name, url: "https://" + l.Addr().String(), token: rand.Text(), ended: make(chan error, 1)}
	certificate, ca, err := selfSigned()
	if err != nil {
		l.Close()
		return nil, err
	}
	b.ca = ca
	b.lab = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return lab.API(ctx) }}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: occupant.APIAddress.String()})
			r.Out.Header.Del("Authorization")
		},
		FlushInterval: -1, // events of watches
		Transport:     b.lab,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable", fmt.Sprintf("lab %s: %v", name, err))
		},
	}
	b.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+b.token)) != 1 {
				w.Header().Set("Connection", "close")
				refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
				return
			}
			proxy.ServeHTTP(w, r)
		}),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13},
		ReadHeaderTimeout: bridgePatience, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { b.ended <- b.server.ServeTLS(netutil.LimitListener(l, bridgeConns), "", "") }() // ends with Close
	return b, nil
}

// refuse answers with an error as the API tells it.
func refuse(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "message": message, "reason": reason, "code": code})
}

// watch looks at the lab until the server has had enough of it; an error means that the lab is
// gone.
func (b *bridge) watch(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+occupant.APIAddress.String()+"/api/v1/namespaces?watch=true", nil)
	if err != nil {
		return err
	}
	answer, err := b.lab.RoundTrip(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return nil
}

// Close ends the bridge and all connections over it.
func (b *bridge) Close() {
	_ = b.server.Close()
	b.lab.CloseIdleConnections()
	<-b.ended
}

// kubeconfig is what kubectl needs to use the bridge.
func (b *bridge) kubeconfig() []byte {
	return []byte(occupant.Kubeconfig(b.name, b.url, fmt.Sprintf("\n    certificate-authority-data: %s", base64.StdEncoding.EncodeToString(b.ca)), "{ token: "+b.token+" }"))
}

// selfSigned makes a certificate for loopback that lasts longer than any command.
func selfSigned() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "netlab"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(10, 0, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
