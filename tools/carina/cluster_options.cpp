#include "cluster_options.h"

#include "help_text.h"
#include "option_values.h"

namespace carina::cli {

void add_cluster_options(CLI::App& app, ClusterOptions& options, const std::string& item) {
  constexpr double kMaxSeconds = 1e7;
  CLI::Option* scheduler =
      app.add_option("--scheduler", options.scheduler,
                     "Address of a Dask cluster: tls://HOST:PORT or tcp://HOST:PORT. Needs Python with carina[sweep], "
                     "and the same `carina` on the workers");
  for (CLI::Option* option :
       {app.add_option("--wait", options.wait_seconds, "Seconds to wait while the cluster has no worker. Default: 60")
            ->check(CLI::Range(0.0, kMaxSeconds)),
        app.add_option("--timeout", options.timeout_seconds,
                       "Maximum time of one " + item + " on a worker, in seconds. Default: no limit")
            ->check(CLI::Range(0.0, kMaxSeconds)),
        app.add_option("--progress", options.progress,
                       "Write the progress as JSON lines to this file, or to stderr (-)")
            ->check(path()),
        app.add_option("--performance-report", options.performance,
                       "Write Dask's performance report to this .html file")
            ->check(path()),
        app.add_option("--tls-ca", options.tls_ca, "Certificate authority of a tls:// cluster: a .pem file")
            ->check(path()),
        app.add_option("--tls-cert", options.tls_cert, "Certificate of this machine: a .pem file")->check(path()),
        app.add_option("--tls-key", options.tls_key, "Key of --tls-cert: a .pem file")->check(path())})
    option->needs(scheduler)->group(section::kCluster);
  scheduler->group(section::kCluster);
  for (CLI::Option* option :
       {app.add_flag("--identity", options.identity), app.add_flag("--describe", options.describe),
        app.add_flag("--only-kept", options.only_kept), app.add_option("--job", options.job)})
    option->group("");
}

}  // namespace carina::cli
