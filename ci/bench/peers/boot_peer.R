# Bootstrap of 8 metrics x 200 seeds x 10,000 resamples with R's boot, or the exact Mann-Whitney law at n = m = 200.
# Usage: Rscript boot_peer.R bootstrap|mann-whitney
what <- commandArgs(trailingOnly = TRUE)[1]
set.seed(1)
if (what == "bootstrap") {
  library(boot)
  data <- matrix(rexp(8 * 200), nrow = 200)
  begin <- proc.time()[["elapsed"]]
  boot(data, function(d, i) colMeans(d[i, , drop = FALSE]), R = 10000)
  cat((proc.time()[["elapsed"]] - begin) * 1e9, "ns/attempt\n")
} else {
  x <- rnorm(200); y <- rnorm(200)
  begin <- proc.time()[["elapsed"]]
  wilcox.test(x, y, exact = TRUE)
  cat((proc.time()[["elapsed"]] - begin) * 1e9, "ns/attempt\n")
}
